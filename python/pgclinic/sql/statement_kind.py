"""What a statement of pg_stat_statements is, by its parse tree, and its text without any constant."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Any

from pgclinic.model.record import Record
from pgclinic.sql import nodes
from pgclinic.sql.fingerprint import normalised
from pgclinic.sql.nodes import command_words, nodes_within
from pgclinic.sql.parser import UnreadableError, normalized, only_statement
from pgclinic.sql.statement_comments import without_comments

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
    nodes.SelectStmt: StatementKind.SELECT,
    nodes.InsertStmt: StatementKind.INSERT,
    nodes.UpdateStmt: StatementKind.UPDATE,
    nodes.DeleteStmt: StatementKind.DELETE,
    nodes.MergeStmt: StatementKind.MERGE,
}
_KIND_OF_TRANSACTION = {
    "TRANS_STMT_BEGIN": StatementKind.BEGIN,
    "TRANS_STMT_START": StatementKind.BEGIN,
    "TRANS_STMT_COMMIT": StatementKind.COMMIT,
    "TRANS_STMT_ROLLBACK": StatementKind.ROLLBACK,
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
    node = only_statement(text)
    if node is None:
        return KnownStatement(kind=StatementKind.UNKNOWN, text=_words(text))
    if isinstance(node, nodes.TransactionStmt):
        kind = _KIND_OF_TRANSACTION.get(node.kind, StatementKind.UTILITY)
        return KnownStatement(kind=kind, text=kind.value if kind is not StatementKind.UTILITY else "transaction")
    kind = _KIND_OF_NODE.get(type(node), StatementKind.UTILITY)
    if kind is StatementKind.UTILITY:
        # Passwords, connection strings and literals stand in these as they were typed.
        return KnownStatement(kind=kind, text=command_words(node))
    if _reads_catalogs_alone(node):
        kind = StatementKind.OWN
    return KnownStatement(kind=kind, text=_without_constants(text))


def _without_constants(text: str) -> str:
    try:
        return normalized(text).strip().rstrip(";").rstrip()
    except UnreadableError:
        return _words(text)


def _words(text: str) -> str:
    """The text by its words alone, up to a literal that was truncated."""
    return re.split(r"['$]", normalised(text))[0].rstrip()


def _reads_catalogs_alone(node: Any) -> bool:
    """Statements of monitoring, ours among them: they ask the catalogs or functions of these, and no table."""
    below = nodes_within(node)
    named = {cte.ctename for cte in below if isinstance(cte, nodes.CommonTableExpr)}
    relations = [one for one in below if isinstance(one, nodes.RangeVar)]
    functions = [
        tuple(str(part.sval) for part in call.funcname if isinstance(part, nodes.String))
        for call in below
        if isinstance(call, nodes.FuncCall)
    ]
    tables = [relation for relation in relations if relation.schemaname or relation.relname not in named]
    if tables:
        return all(table.schemaname in _SYSTEM_SCHEMAS or str(table.relname).startswith("pg_") for table in tables)
    return any(
        name[0] in _SYSTEM_SCHEMAS or name[-1].startswith("pg_") or name[-1] == "set_config" for name in functions
    )
