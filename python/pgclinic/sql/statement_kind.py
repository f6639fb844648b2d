"""What a statement of pg_stat_statements is, by its parse tree, and its text without any constant."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Any

from pglast import ast, parser
from pglast.enums import TransactionStmtKind

from pgclinic.model.record import Record
from pgclinic.sql.fingerprint import normalised
from pgclinic.sql.statement_comments import without_comments

_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+")
_SYSTEM_SCHEMAS = frozenset(("pg_catalog", "information_schema"))
#: The triggers of foreign keys write their operators so; nobody else does.
_FOREIGN_KEY_CHECK = re.compile(r"\bONLY\b.*\bOPERATOR\(pg_catalog\.=\)", re.DOTALL)


class StatementKind(str, Enum):
    """``begin``, ``commit`` and ``rollback`` end or start a transaction; ``utility`` is whatever has no plan.

    ``own`` reads nothing but the catalogs, ``check`` belongs to a foreign key, ``unknown`` cannot be parsed.
    """

    SELECT = "select"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    UTILITY = "utility"
    OWN = "own"
    CHECK = "check"
    UNKNOWN = "unknown"

    @property
    def has_plan(self) -> bool:
        return self in _PLANNED


_PLANNED = frozenset(
    (StatementKind.SELECT, StatementKind.INSERT, StatementKind.UPDATE, StatementKind.DELETE, StatementKind.MERGE)
)
_KIND_OF_NODE = {
    ast.SelectStmt: StatementKind.SELECT,
    ast.InsertStmt: StatementKind.INSERT,
    ast.UpdateStmt: StatementKind.UPDATE,
    ast.DeleteStmt: StatementKind.DELETE,
    ast.MergeStmt: StatementKind.MERGE,
}
_KIND_OF_TRANSACTION = {
    TransactionStmtKind.TRANS_STMT_BEGIN: StatementKind.BEGIN,
    TransactionStmtKind.TRANS_STMT_START: StatementKind.BEGIN,
    TransactionStmtKind.TRANS_STMT_COMMIT: StatementKind.COMMIT,
    TransactionStmtKind.TRANS_STMT_ROLLBACK: StatementKind.ROLLBACK,
}


class KnownStatement(Record):
    """``text`` has ``$n`` for every constant; of a utility statement it is the command alone."""

    kind: StatementKind
    text: str


@lru_cache(maxsize=16384)
def known_statement(text: str) -> KnownStatement:
    """Kind and text of one statement. Nothing that stood in it as a constant or in a comment is left in the text."""
    text = without_comments(text)
    if _FOREIGN_KEY_CHECK.search(text):
        return KnownStatement(kind=StatementKind.CHECK, text=_words(text))
    node = _parsed(text)
    if node is None:
        return KnownStatement(kind=StatementKind.UNKNOWN, text=_words(text))
    if isinstance(node, ast.TransactionStmt):
        kind = _KIND_OF_TRANSACTION.get(node.kind or TransactionStmtKind.TRANS_STMT_BEGIN, StatementKind.UTILITY)
        return KnownStatement(kind=kind, text=kind.value if kind is not StatementKind.UTILITY else "transaction")
    kind = _KIND_OF_NODE.get(type(node), StatementKind.UTILITY)
    if kind is StatementKind.UTILITY:
        # Passwords, connection strings and literals stand in these as they were typed.
        words = _WORDS_OF_NAME.findall(type(node).__name__.removesuffix("Stmt"))
        return KnownStatement(kind=kind, text=" ".join(words).upper())
    if _reads_catalogs_alone(node):
        kind = StatementKind.OWN
    return KnownStatement(kind=kind, text=_without_constants(text))


def _parsed(text: str) -> Any | None:
    """The only statement of ``text``; None if there are more, none, or something that is no SQL."""
    try:
        statements = parser.parse_sql(text)
    except (parser.ParseError, UnicodeError, RecursionError):
        return None
    return statements[0].stmt if len(statements) == 1 else None


def _without_constants(text: str) -> str:
    try:
        return str(parser.normalize(text)).strip().rstrip(";").rstrip()
    except (parser.ParseError, UnicodeError):
        return _words(text)


def _words(text: str) -> str:
    """The text by its words alone, up to a literal that was truncated."""
    return re.split(r"['$]", normalised(text))[0].rstrip()


def nodes_within(node: Any) -> list[Any]:
    """``node`` and all nodes below it, in no order that matters."""
    found: list[Any] = []
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(one)
        elif isinstance(one, ast.Node):
            found.append(one)
            waiting.extend(getattr(one, name) for name in one)
    return found


def _reads_catalogs_alone(node: Any) -> bool:
    """Statements of monitoring, ours among them: they ask the catalogs or functions of these, and no table."""
    nodes = nodes_within(node)
    named = {cte.ctename for cte in nodes if isinstance(cte, ast.CommonTableExpr)}
    relations = [one for one in nodes if isinstance(one, ast.RangeVar)]
    functions = [
        tuple(str(part.sval) for part in one.funcname or () if isinstance(part, ast.String))
        for one in nodes
        if isinstance(one, ast.FuncCall)
    ]
    tables = [one for one in relations if one.schemaname or one.relname not in named]
    if tables:
        return all(one.schemaname in _SYSTEM_SCHEMAS or str(one.relname).startswith("pg_") for one in tables)
    return any(
        name[0] in _SYSTEM_SCHEMAS or name[-1].startswith("pg_") or name[-1] == "set_config" for name in functions
    )
