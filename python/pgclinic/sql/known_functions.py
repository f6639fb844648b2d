"""Functions of an application as a twin's schema has them: the types of their arguments, and what they do with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pgclinic.sql import nodes
from pgclinic.sql.parser import (
    UnreadableError,
    Word,
    only_statement,
    parts_between_semicolons,
    printed,
    statements_of,
    words_of,
)

_INPUT = frozenset(("FUNC_PARAM_IN", "FUNC_PARAM_INOUT", "FUNC_PARAM_DEFAULT"))
#: The type of the value decides what these are.
_POLYMORPHIC = re.compile(r"\bany[a-z]*\b|\brecord\b|%type")
#: How a statement starts in a body of PL/pgSQL.
_VERBS = frozenset(("select", "insert", "update", "delete", "merge", "with"))
_PERFORM = re.compile(r"\bperform\b", re.IGNORECASE)
_RETURNED_INTO = re.compile(r"\b(returning\b.*?)\binto\b.*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class KnownFunction:
    """A function. ``types`` are those of the arguments that a caller gives, None for one that takes any type.

    ``names`` are theirs, empty for one without. ``required`` arguments have no default. ``body`` has the trees of its
    statements, where they can be read.
    """

    schema: str | None
    name: str
    names: tuple[str, ...]
    types: tuple[str | None, ...]
    required: int
    body: tuple[Any, ...] = ()

    def takes(self, arguments: int) -> bool:
        """Whether it can be called with so many arguments."""
        return self.required <= arguments <= len(self.types)

    def position(self, name: str) -> int | None:
        """Of the argument with this name."""
        return self.names.index(name) if name in self.names else None


@lru_cache(maxsize=1024)
def known_function(statement: str) -> KnownFunction | None:
    """The function that a CREATE FUNCTION makes; None for a procedure, an aggregate or a variadic function."""
    node = only_statement(statement)
    if not isinstance(node, nodes.CreateFunctionStmt) or node.is_procedure:
        return None
    parameters = [parameter for parameter in node.parameters if parameter.mode in _INPUT]
    if any(parameter.mode == "FUNC_PARAM_VARIADIC" for parameter in node.parameters):
        return None
    names = [str(part.sval) for part in node.funcname]
    return KnownFunction(
        schema=names[0] if len(names) > 1 else None,
        name=names[-1],
        names=tuple(parameter.name or "" for parameter in parameters),
        types=tuple(_type(parameter) for parameter in parameters),
        required=sum(parameter.defexpr is None for parameter in parameters),
        body=tuple(_statements(node)),
    )


def _type(parameter: Any) -> str | None:
    type_ = printed(parameter.argType)
    return None if _POLYMORPHIC.search(type_) else type_


def body_with(function: KnownFunction, arguments: Iterable[Any]) -> Iterator[Any]:
    """The statements of the body with ``arguments`` in place of what it calls them; None stands for an unknown one."""
    given = list(arguments)
    unknown = nodes.ColumnRef(fields=(nodes.String(sval=""),))

    def replaced(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(replaced(one) for one in node)
        if not isinstance(node, nodes.Node):
            return node
        at = _argument(function, node)
        if at is not None:
            return (given[at] if at < len(given) else None) or unknown
        for name in node:
            setattr(node, name, replaced(getattr(node, name)))
        return node

    for statement in function.body:
        yield replaced(deepcopy(statement))


def _argument(function: KnownFunction, node: Any) -> int | None:
    """Which argument a node means: ``$1``, its name, or its name behind that of the function."""
    if isinstance(node, nodes.ParamRef):
        return int(node.number) - 1
    if not isinstance(node, nodes.ColumnRef):
        return None
    fields = node.fields
    names = [str(part.sval) for part in fields if isinstance(part, nodes.String)]
    if len(names) == len(fields) == 1 or (len(names) == 2 and names[0] == function.name):
        return function.position(names[-1])
    return None


def _statements(node: Any) -> Iterator[Any]:
    if node.sql_body is not None:
        yield from (one for one in _flat(node.sql_body) if isinstance(one, nodes.SelectStmt | _CHANGES))
        return
    options = {option.defname: option.arg for option in node.options}
    language = options.get("language")
    text = next((str(part.sval) for part in options.get("as") or () if isinstance(part, nodes.String)), "")
    if language is not None and str(language.sval).lower() == "sql":
        yield from _parsed(text)
    elif language is not None:
        yield from _of_block(text)


_CHANGES = nodes.InsertStmt | nodes.UpdateStmt | nodes.DeleteStmt | nodes.MergeStmt


def _flat(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for one in node:
            yield from _flat(one)
    else:
        yield node


def _parsed(text: str) -> list[Any]:
    try:
        return [one for one in statements_of(text) if isinstance(one, nodes.SelectStmt | _CHANGES)]
    except UnreadableError:
        return []


def _of_block(text: str) -> Iterator[Any]:
    """The statements of a body in PL/pgSQL, conditions and loops over queries too; those that build texts are none."""
    try:
        parts = parts_between_semicolons(_PERFORM.sub("select", text))
    except UnreadableError:
        return
    for part in parts:
        yield from _of_part(part)


def _of_part(text: str) -> Iterator[Any]:
    """What begins with a verb in the text between two semicolons."""
    try:
        words = list(words_of(text))
    except UnreadableError:
        return
    at = 0
    while at < len(words):
        end = _end(words, at) if words[at].text.lower() in _VERBS else at
        found = _read(text[words[at].start : words[end].start if end < len(words) else len(text)]) if end > at else []
        yield from found
        at = end if found else at + 1


def _end(words: list[Word], first: int) -> int:
    """Behind the statement that begins ``first``: a THEN or LOOP, or a parenthesis that it has not opened, ends it."""
    depth = cases = 0
    for at in range(first, len(words)):
        match words[at].text.lower():
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "case":
                cases += 1
            case "end":
                cases -= 1
            case "then" | "loop" if not depth and not cases:
                return at
        if depth < 0:
            return at
    return len(words)


def _read(text: str) -> list[Any]:
    return _parsed(text) or _parsed(_RETURNED_INTO.sub(r"\1", text))
