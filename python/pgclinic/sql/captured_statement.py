"""Whether a statement of a twin's schema is of a kind that a capture writes, by its parse tree.

A twin may come from anybody. What this lets through can still hold any expression and any function body: they run as
a role that owns nothing but one database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pgclinic.model.twin import ObjectKind
from pgclinic.model.twin_refusal import ObjectRefusal
from pgclinic.sql import nodes
from pgclinic.sql.nodes import command_words
from pgclinic.sql.parser import only_statement

#: A trusted language can do nothing that SQL cannot.
_LANGUAGES = frozenset(("sql", "plpgsql"))
#: Extensions that neither read files, run programs nor connect to other servers.
SAFE_EXTENSIONS = frozenset(
    (
        "plpgsql",
        "amcheck",
        "bloom",
        "btree_gin",
        "btree_gist",
        "citext",
        "cube",
        "dict_int",
        "earthdistance",
        "fuzzystrmatch",
        "hstore",
        "insert_username",
        "intarray",
        "isn",
        "lo",
        "ltree",
        "moddatetime",
        "autoinc",
        "refint",
        "pg_buffercache",
        "pg_freespacemap",
        "pg_prewarm",
        "pg_stat_statements",
        "pg_trgm",
        "pg_visibility",
        "pgcrypto",
        "pgrowlocks",
        "pgstattuple",
        "seg",
        "tablefunc",
        "tcn",
        "tsm_system_rows",
        "tsm_system_time",
        "unaccent",
        "uuid-ossp",
        "vector",
    )
)
_ALTERED = {
    ObjectKind.KEY: {"AT_AddConstraint"},
    ObjectKind.CHECK: {"AT_AddConstraint"},
    ObjectKind.FOREIGN_KEY: {"AT_AddConstraint"},
    ObjectKind.INDEX: {"AT_SetRelOptions"},
    ObjectKind.POLICY: {"AT_EnableRowSecurity", "AT_ForceRowSecurity"},
    ObjectKind.COLUMN: {
        "AT_SetStorage",
        "AT_SetCompression",
        "AT_SetStatistics",
        "AT_SetOptions",
        "AT_ColumnDefault",
    },
}
_WRITTEN: dict[ObjectKind, tuple[type, ...]] = {
    ObjectKind.ROLE: (nodes.DoStmt,),
    ObjectKind.EXTENSION: (nodes.CreateExtensionStmt,),
    ObjectKind.SCHEMA: (nodes.CreateSchemaStmt,),
    ObjectKind.COLLATION: (nodes.DefineStmt,),
    ObjectKind.TYPE: (nodes.CreateEnumStmt, nodes.CreateDomainStmt, nodes.CompositeTypeStmt, nodes.CreateRangeStmt),
    ObjectKind.SEQUENCE: (nodes.CreateSeqStmt,),
    ObjectKind.FUNCTION: (nodes.CreateFunctionStmt, nodes.DefineStmt),
    ObjectKind.TABLE: (nodes.CreateStmt,),
    ObjectKind.COLUMN: (nodes.AlterTableStmt, nodes.AlterSeqStmt),
    ObjectKind.KEY: (nodes.AlterTableStmt,),
    ObjectKind.CHECK: (nodes.AlterTableStmt,),
    ObjectKind.INDEX: (nodes.IndexStmt, nodes.AlterTableStmt),
    ObjectKind.STATISTICS: (nodes.CreateStatsStmt,),
    ObjectKind.VIEW: (nodes.ViewStmt, nodes.CreateTableAsStmt),
    ObjectKind.FOREIGN_KEY: (nodes.AlterTableStmt,),
    ObjectKind.TRIGGER: (nodes.CreateTrigStmt, nodes.RuleStmt),
    ObjectKind.POLICY: (nodes.CreatePolicyStmt, nodes.AlterTableStmt),
}
_DEFINED = {ObjectKind.COLLATION: "OBJECT_COLLATION", ObjectKind.FUNCTION: "OBJECT_AGGREGATE"}
_PART = r'(?:"(?:[^"\0]|"")+"|[^\W\d][\w$]*)'
_NAME = re.compile(rf"{_PART}(?:\.{_PART})?")
#: The block that a capture writes around CREATE ROLE; the name is all that is taken from it.
_ROLE = re.compile(
    r"do \$do\$ begin if not exists \(select from pg_catalog\.pg_roles where rolname = E?'(?:[^']|'')*'\) "
    r'then create role ("(?:[^"]|"")+"|[a-z_][a-z0-9_$]*) nologin; end if; end \$do\$'
)


@dataclass(frozen=True)
class StatementRefused:
    """Why a statement is not run; ``detail`` is its kind, its language or the extension."""

    refusal: ObjectRefusal
    detail: str = ""


def refused(kind: ObjectKind, statement: str) -> StatementRefused | None:
    """Why ``statement`` is not what a capture writes for an object of ``kind``; None where it is."""
    node = only_statement(statement)
    if node is None:
        return StatementRefused(ObjectRefusal.UNREADABLE)
    if not isinstance(node, _WRITTEN[kind]) or not _is_as_written(kind, node, statement):
        return StatementRefused(ObjectRefusal.STATEMENT, command_words(node))
    if isinstance(node, nodes.CreateExtensionStmt) and node.extname not in SAFE_EXTENSIONS:
        return StatementRefused(ObjectRefusal.EXTENSION, str(node.extname))
    if isinstance(node, nodes.CreateFunctionStmt) and (language := _language(node)) not in _LANGUAGES:
        return StatementRefused(ObjectRefusal.LANGUAGE, language)
    return None


def role_named(statement: str) -> str | None:
    """The quoted name of the role that a capture's block makes; None for any other text."""
    match = _ROLE.fullmatch(statement.strip())
    return match[1] if match else None


def extension_of(statement: str) -> tuple[str, str | None]:
    """Name and schema of a CREATE EXTENSION that ``refused`` lets through, as they are, without quotes."""
    node = only_statement(statement)
    assert isinstance(node, nodes.CreateExtensionStmt)
    schema = next((str(option.arg.sval) for option in node.options if option.defname == "schema"), None)
    return str(node.extname), schema


def is_name(text: str) -> bool:
    """Whether ``text`` is the name of a relation, with or without its schema, quoted where SQL wants it."""
    return _NAME.fullmatch(text) is not None


def _is_as_written(kind: ObjectKind, node: Any, statement: str) -> bool:  # noqa: PLR0911  one case each
    match node:
        case nodes.DoStmt():
            return role_named(statement) is not None
        case nodes.CreateExtensionStmt():
            return all(option.defname == "schema" for option in node.options)
        case nodes.CreateSchemaStmt():
            return not node.schemaElts and node.authrole is None
        case nodes.DefineStmt():
            return bool(node.kind == _DEFINED[kind])
        case nodes.AlterTableStmt():
            return all(command.subtype in _ALTERED[kind] for command in node.cmds)
        case nodes.AlterSeqStmt():
            return all(option.defname == "owned_by" for option in node.options)
        case nodes.CreateTableAsStmt():
            return bool(node.objtype == "OBJECT_MATVIEW")
        case nodes.CreateStmt():
            return node.tablespacename is None
        case nodes.IndexStmt():
            return node.tableSpace is None
        case _:
            return True


def _language(node: Any) -> str:
    named = [str(option.arg.sval) for option in node.options if option.defname == "language"]
    return named[0].lower() if len(named) == 1 else "none"
