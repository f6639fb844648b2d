"""PostgreSQL's own parser, by postgast: texts to trees and back, and what it says of texts without a tree.

Trees come as JSON, which postgast itself does not offer: its protobuf messages end at a hundred levels, which is a sum
of fifty columns, and are slower to read. postgast is loaded with the first text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pgclinic.sql.nodes import (
    A_ArrayExpr,
    A_Expr,
    A_Indirection,
    ColumnRef,
    FuncCall,
    Node,
    ParamRef,
    ResTarget,
    RowExpr,
    SelectStmt,
    TypeCast,
    TypeName,
    node_of,
    nodes_within,
    write_any,
)

#: What postgast itself puts into parentheses before ``[1]`` and ``.field``, or what needs none there.
_INDEXED_AS_IT_IS = (A_ArrayExpr, A_Expr, A_Indirection, ColumnRef, FuncCall, ParamRef, RowExpr, TypeCast)


T = TypeVar("T")

#: The parser, in C, calls itself for every level of a tree, and a chain such as ``1+1+1`` has one for two bytes. An
#: ordinary stack of 8 MB ends at about 25,000 levels, and the process with it; longer texts get a stack of their own.
_SHALLOW_BYTES, _LONGEST_BYTES = 20_000, 4_000_000
#: Twice of what the deepest of the parser's functions, `normalize`, took for each byte of such a chain.
_STACK_BYTES_PER_BYTE = 340
_STACK_BYTES_MIN = 16 * 2**20
_PAGE_BYTES = 4096
_stack_size_lock = threading.Lock()


class UnreadableError(ValueError):
    """The text is no SQL, or a tree is too deep to be read."""


class UnprintableError(ValueError):
    """The tree is none that a statement can have."""


@dataclass(frozen=True)
class Word:
    """A word, a sign, a constant or a comment of a text, what the grammar calls it, and where it starts."""

    start: int
    text: str
    kind: str


def statements_of(text: str) -> tuple[Any, ...]:
    """The trees of all statements in a text. Raises UnreadableError."""
    try:
        tree = msgspec.json.decode(_tree(text))
        return tuple(node_of("RawStmt", one).stmt for one in tree["stmts"])
    except RecursionError as error:
        raise UnreadableError("the statement is nested too deeply") from error


def grammar_version() -> str:
    """The PostgreSQL release whose grammar this is, such as 18.4."""
    number = msgspec.json.decode(_tree("SELECT 1"))["version"]
    return f"{number // 10000}.{number % 10000}"


def only_statement(text: str) -> Any | None:
    """The tree of the statement that a text is; None for several, for none, and for what is no SQL."""
    try:
        statements = statements_of(text)
    except UnreadableError:
        return None
    return statements[0] if len(statements) == 1 else None


def parsed_expression(text: str) -> Any:
    """The tree of one expression. Raises UnreadableError."""
    (statement, *others) = statements_of(f"SELECT {text}")
    if others or not isinstance(statement, SelectStmt) or len(statement.targetList) != 1:
        raise UnreadableError("this is no expression")
    return statement.targetList[0].val


def printed(node: Any) -> str:
    """The text of a statement, an expression or a type. Raises UnprintableError."""
    if isinstance(node, TypeName):
        return _printed_type(node)
    if type(node).__name__.endswith("Stmt"):
        return _printed_statement(node)
    return _printed_statement(_selecting(node)).removeprefix("SELECT ")


def _printed_type(node: TypeName) -> str:
    """As the catalogs print it where the parser has a shorter word."""
    null = parsed_expression("NULL")
    text = _printed_statement(_selecting(TypeCast(arg=null, typeName=node))).removeprefix("SELECT NULL::")
    return "integer" + text[len("int") :] if text == "int" or text.startswith("int[") else text


def _selecting(value: Any) -> SelectStmt:
    return SelectStmt(targetList=(ResTarget(val=value),), limitOption="LIMIT_OPTION_DEFAULT", op="SETOP_NONE")


def fingerprint_of(text: str) -> str:
    """The same for texts that differ in constants alone. Raises UnreadableError."""
    with _readable():
        return _with_room(lambda whole: str(_postgast().fingerprint(whole).hex), _whole(text))


def normalized(text: str) -> str:
    """The text with ``$n`` in place of its constants. Raises UnreadableError."""
    with _readable():
        return _with_room(lambda whole: str(_postgast().normalize(whole)), _whole(text))


def parts_between_semicolons(text: str) -> list[str]:
    """The statements of a text that need not be SQL, but for its strings and comments. Raises UnreadableError."""
    with _readable():
        return list(_postgast().split(_whole(text), method="scanner"))


def words_of(text: str) -> Iterator[Word]:
    """The words, signs, constants and comments of a text. Raises UnreadableError."""
    with _readable():
        tokens = _postgast().scan(_whole(text)).tokens
    kinds = _postgast().pg_query_pb2.Token
    encoded = text.encode()
    start = end = 0
    for token in tokens:
        start += len(encoded[end : token.start].decode())
        end = token.end
        word = encoded[token.start : end].decode()
        yield Word(start, word, kinds.Name(token.token))
        start += len(word)


def _printed_statement(node: Node) -> str:
    postgast = _postgast()
    tree = postgast.ParseResult()
    _parenthesise(node)
    try:
        write_any(node, tree.stmts.add().stmt)
        return str(postgast.deparse(tree))
    except (postgast.PgQueryError, RecursionError, ValueError, TypeError, KeyError) as error:
        raise UnprintableError(str(error)) from error


def _parenthesise(node: Node) -> None:
    """``(ARRAY(SELECT ...))[1]`` has them by an indirection to nothing in between."""
    for one in nodes_within(node):
        if isinstance(one, A_Indirection) and not isinstance(one.arg, _INDEXED_AS_IT_IS):
            one.arg = A_Indirection(arg=one.arg)


def _tree(text: str) -> bytes:
    from postgast.errors import check_error
    from postgast.native import lib

    def parsed(whole: str) -> bytes:
        result = lib.pg_query_parse(whole.encode())
        try:
            check_error(result)
            found: bytes = result.parse_tree
            return found
        finally:
            lib.pg_query_free_parse_result(result)

    with _readable():
        return _with_room(parsed, _whole(text))


def _postgast() -> Any:
    import postgast

    return postgast


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (_postgast().PgQueryError, UnicodeError) as error:
        raise UnreadableError(str(error)) from error


def _whole(text: str) -> str:
    """The text, which the parser would take for a shorter one if a zero byte were in it. Raises UnreadableError."""
    if "\0" in text:
        raise UnreadableError("a statement has no zero byte")
    return text


def _with_room(call: Callable[[str], T], text: str) -> T:
    """Call the parser on a stack that is as large as the text could need. Raises UnreadableError, and what it does."""
    length = len(text.encode())
    if length <= _SHALLOW_BYTES:
        return call(text)
    if length > _LONGEST_BYTES:
        raise UnreadableError(f"the statement is longer than {_LONGEST_BYTES // 1_000_000} MB")
    from concurrent.futures import ThreadPoolExecutor

    needed = _STACK_BYTES_MIN + length * _STACK_BYTES_PER_BYTE
    with ThreadPoolExecutor(1) as pool:
        with _stack_size_lock:
            before = threading.stack_size(-(-needed // _PAGE_BYTES) * _PAGE_BYTES)
            try:
                done = pool.submit(call, text)
            except RuntimeError as error:
                raise UnreadableError("this process has no memory for so long a statement") from error
            finally:
                threading.stack_size(before)
        return done.result()
