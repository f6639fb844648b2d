"""The nodes of a parse tree, with the names that PostgreSQL's own source gives to them and to their fields.

A tree is made of plain objects that may be changed and put elsewhere. A field that has not been set is None, 0, False
or an empty tuple, as its type says; values of enumerations are the words of the source, such as ``AEXPR_OP``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+")

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message


class Node:
    """One node. Iterating gives the names of the fields that are set."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.__dict__))

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        """What a field is that has not been set; classes have no attribute of that name."""
        if name.startswith("__"):
            raise AttributeError(name)
        field = _fields(type(self).__name__).get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        return field.unset


class A_ArrayExpr(Node): ...  # noqa: N801  the name in PostgreSQL's source


class A_Const(Node): ...  # noqa: N801


class A_Expr(Node): ...  # noqa: N801


class A_Indirection(Node): ...  # noqa: N801


class A_Star(Node): ...  # noqa: N801


class AlterSeqStmt(Node): ...


class AlterTableStmt(Node): ...


class BoolExpr(Node): ...


class CaseExpr(Node): ...


class CoalesceExpr(Node): ...


class ColumnRef(Node): ...


class CommonTableExpr(Node): ...


class CompositeTypeStmt(Node): ...


class CreateDomainStmt(Node): ...


class CreateEnumStmt(Node): ...


class CreateExtensionStmt(Node): ...


class CreateFunctionStmt(Node): ...


class CreatePolicyStmt(Node): ...


class CreateRangeStmt(Node): ...


class CreateSchemaStmt(Node): ...


class CreateSeqStmt(Node): ...


class CreateStatsStmt(Node): ...


class CreateStmt(Node): ...


class CreateTableAsStmt(Node): ...


class CreateTrigStmt(Node): ...


class CurrentOfExpr(Node): ...


class DefineStmt(Node): ...


class DeleteStmt(Node): ...


class DoStmt(Node): ...


class FuncCall(Node): ...


class IndexStmt(Node): ...


class InsertStmt(Node): ...


class JoinExpr(Node): ...


class LockingClause(Node): ...


class MergeStmt(Node): ...


class MinMaxExpr(Node): ...


class MultiAssignRef(Node): ...


class NamedArgExpr(Node): ...


class ParamRef(Node): ...


class PrepareStmt(Node): ...


class RangeFunction(Node): ...


class RangeSubselect(Node): ...


class RangeVar(Node): ...


class ResTarget(Node): ...


class RowExpr(Node): ...


class RuleStmt(Node): ...


class SelectStmt(Node): ...


class SortBy(Node): ...


class String(Node): ...


class SubLink(Node): ...


class TransactionStmt(Node): ...


class TypeCast(Node): ...


class TypeName(Node): ...


class UpdateStmt(Node): ...


class ViewStmt(Node): ...


class _Kind(Enum):
    """What a field holds: a plain value, the word of an enumeration, one kind of node, or any."""

    VALUE = "value"
    WORD = "word"
    KNOWN = "known"
    ANY = "any"


class _Field:
    """One field of a kind of node, as the parser's own description of its trees has it."""

    __slots__ = ("descriptor", "is_list", "kind", "message", "name", "unset")

    def __init__(self, descriptor: FieldDescriptor) -> None:
        message = descriptor.message_type
        self.descriptor = descriptor
        self.name = descriptor.name
        self.is_list = descriptor.is_repeated
        self.message = message.name if message is not None else ""
        if message is not None:
            self.kind = _Kind.ANY if message.name == "Node" else _Kind.KNOWN
        else:
            self.kind = _Kind.VALUE if descriptor.enum_type is None else _Kind.WORD
        has_zero = self.kind is _Kind.VALUE and descriptor.type != descriptor.TYPE_STRING
        self.unset: Any = () if self.is_list else descriptor.default_value if has_zero else None


@lru_cache(maxsize=1)
def _messages() -> Mapping[str, Descriptor]:
    from postgast.pg_query_pb2 import DESCRIPTOR

    found: Mapping[str, Descriptor] = DESCRIPTOR.message_types_by_name
    return found


@lru_cache(maxsize=1024)
def _fields(kind: str) -> Mapping[str, _Field]:
    """The fields of a kind of node by their names in PostgreSQL's source."""
    return {field.json_name: _Field(field) for field in _messages()[kind].fields}


@lru_cache(maxsize=1024)
def _class(kind: str) -> type[Node]:
    known = {subclass.__name__: subclass for subclass in Node.__subclasses__()}
    return known.get(kind) or type(kind, (Node,), {})


@lru_cache(maxsize=1)
def _branches() -> Mapping[str, str]:
    """Where a node of a kind stands in the message that may be of any kind."""
    return {field.message_type.name: field.name for field in _messages()["Node"].fields}


def node_of(kind: str, values: Mapping[str, Any]) -> Node:
    """The node that the parser's text of its tree describes."""
    fields = _fields(kind)
    node = _class(kind)()
    found = node.__dict__
    for name, value in values.items():
        field = fields[name]
        if field.message == "":
            found[name] = value
        elif field.is_list:
            found[name] = tuple([_part(one, field) for one in value])
        else:
            found[name] = _part(value, field)
    return node


def _part(value: Mapping[str, Any], field: _Field) -> Any:
    return _any(value) if field.kind is _Kind.ANY else node_of(field.message, value)


def _any(value: Mapping[str, Any]) -> Any:
    """A node of any kind stands below the name of its kind; a list is a tuple, and nothing is None."""
    for kind, values in value.items():
        if kind == "List":
            return tuple([_any(one) for one in values.get("items", ())])
        return node_of(kind, values)
    return None


def write(node: Node, message: Message) -> None:
    """Put a node into the message of its kind."""
    fields = _fields(type(node).__name__)
    for name, value in node.__dict__.items():
        if value is not None:
            _write_field(message, fields[name], value)


def _write_field(message: Any, field: _Field, value: Any) -> None:
    if field.is_list:
        whole = getattr(message, field.name)
        for one in value:
            _write_part(whole.add(), field, one)
    elif field.kind is _Kind.VALUE:
        setattr(message, field.name, value)
    elif field.kind is _Kind.WORD:
        setattr(message, field.name, field.descriptor.enum_type.values_by_name[value].number)
    else:
        part = getattr(message, field.name)
        part.SetInParent()
        _write_part(part, field, value)


def _write_part(part: Message, field: _Field, value: Any) -> None:
    if field.kind is _Kind.ANY:
        write_any(value, part)
    else:
        write(value, part)


def write_any(value: Any, message: Any) -> None:
    """Put a node, a list of nodes or nothing into the message that may be of any kind."""
    if isinstance(value, tuple):
        message.list.SetInParent()
        for one in value:
            write_any(one, message.list.items.add())
    elif value is not None:
        branch = getattr(message, _branches()[type(value).__name__])
        branch.SetInParent()
        write(value, branch)


def command_words(statement: Node) -> str:
    """CREATE EXTENSION, ALTER TABLE: the kind of a statement in words, without anything that stands in it."""
    return " ".join(_WORDS_OF_NAME.findall(type(statement).__name__.removesuffix("Stmt"))).upper()


def nodes_within(node: Any) -> list[Any]:
    """``node`` and all nodes below it, in no order that matters."""
    found: list[Any] = []
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(one)
        elif isinstance(one, Node):
            found.append(one)
            waiting.extend(one.__dict__.values())
    return found
