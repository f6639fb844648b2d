"""Whether a statement of a twin's schema is of a kind that a capture writes, by its parse tree.

A twin may come from anybody. What this lets through can still hold any expression and any function body: they run as
a role that owns nothing but one database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pglast import ast, parser
from pglast.enums import AlterTableType, ObjectType

from pgclinic.model.twin import ObjectKind
from pgclinic.model.twin_refusal import Refusal

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
_WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+")
_ALTERED = {
    ObjectKind.KEY: {AlterTableType.AT_AddConstraint},
    ObjectKind.CHECK: {AlterTableType.AT_AddConstraint},
    ObjectKind.FOREIGN_KEY: {AlterTableType.AT_AddConstraint},
    ObjectKind.INDEX: {AlterTableType.AT_SetRelOptions},
    ObjectKind.POLICY: {AlterTableType.AT_EnableRowSecurity, AlterTableType.AT_ForceRowSecurity},
    ObjectKind.COLUMN: {
        AlterTableType.AT_SetStorage,
        AlterTableType.AT_SetCompression,
        AlterTableType.AT_SetStatistics,
        AlterTableType.AT_SetOptions,
        AlterTableType.AT_ColumnDefault,
    },
}
_WRITTEN: dict[ObjectKind, tuple[type, ...]] = {
    ObjectKind.ROLE: (ast.DoStmt,),
    ObjectKind.EXTENSION: (ast.CreateExtensionStmt,),
    ObjectKind.SCHEMA: (ast.CreateSchemaStmt,),
    ObjectKind.COLLATION: (ast.DefineStmt,),
    ObjectKind.TYPE: (ast.CreateEnumStmt, ast.CreateDomainStmt, ast.CompositeTypeStmt, ast.CreateRangeStmt),
    ObjectKind.SEQUENCE: (ast.CreateSeqStmt,),
    ObjectKind.FUNCTION: (ast.CreateFunctionStmt, ast.DefineStmt),
    ObjectKind.TABLE: (ast.CreateStmt,),
    ObjectKind.COLUMN: (ast.AlterTableStmt, ast.AlterSeqStmt),
    ObjectKind.KEY: (ast.AlterTableStmt,),
    ObjectKind.CHECK: (ast.AlterTableStmt,),
    ObjectKind.INDEX: (ast.IndexStmt, ast.AlterTableStmt),
    ObjectKind.STATISTICS: (ast.CreateStatsStmt,),
    ObjectKind.VIEW: (ast.ViewStmt, ast.CreateTableAsStmt),
    ObjectKind.FOREIGN_KEY: (ast.AlterTableStmt,),
    ObjectKind.TRIGGER: (ast.CreateTrigStmt, ast.RuleStmt),
    ObjectKind.POLICY: (ast.CreatePolicyStmt, ast.AlterTableStmt),
}
_DEFINED = {ObjectKind.COLLATION: ObjectType.OBJECT_COLLATION, ObjectKind.FUNCTION: ObjectType.OBJECT_AGGREGATE}
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

    refusal: Refusal
    detail: str = ""


def refused(kind: ObjectKind, statement: str) -> StatementRefused | None:
    """Why ``statement`` is not what a capture writes for an object of ``kind``; None where it is."""
    node = _only_statement(statement)
    if node is None:
        return StatementRefused(Refusal.UNREADABLE)
    words = " ".join(_WORDS_OF_NAME.findall(type(node).__name__.removesuffix("Stmt"))).upper()
    if not isinstance(node, _WRITTEN[kind]) or not _is_as_written(kind, node, statement):
        return StatementRefused(Refusal.STATEMENT, words)
    if isinstance(node, ast.CreateExtensionStmt) and node.extname not in SAFE_EXTENSIONS:
        return StatementRefused(Refusal.EXTENSION, str(node.extname))
    if isinstance(node, ast.CreateFunctionStmt) and (language := _language(node)) not in _LANGUAGES:
        return StatementRefused(Refusal.LANGUAGE, language)
    return None


def role_named(statement: str) -> str | None:
    """The quoted name of the role that a capture's block makes; None for any other text."""
    match = _ROLE.fullmatch(statement.strip())
    return match[1] if match else None


def extension_of(statement: str) -> tuple[str, str | None]:
    """Name and schema of a CREATE EXTENSION that ``refused`` lets through, as they are, without quotes."""
    node = _only_statement(statement)
    assert isinstance(node, ast.CreateExtensionStmt)
    schema = next((str(option.arg.sval) for option in node.options or () if option.defname == "schema"), None)
    return str(node.extname), schema


def is_name(text: str) -> bool:
    """Whether ``text`` is the name of a relation, with or without its schema, quoted where SQL wants it."""
    return _NAME.fullmatch(text) is not None


def _only_statement(text: str) -> Any | None:
    try:
        statements = parser.parse_sql(text)
    except (parser.ParseError, UnicodeError, ValueError, RecursionError):
        return None
    return statements[0].stmt if len(statements) == 1 else None


def _is_as_written(kind: ObjectKind, node: Any, statement: str) -> bool:  # noqa: PLR0911  one case each
    match node:
        case ast.DoStmt():
            return role_named(statement) is not None
        case ast.CreateExtensionStmt():
            return all(option.defname == "schema" for option in node.options or ())
        case ast.CreateSchemaStmt():
            return not node.schemaElts and node.authrole is None
        case ast.DefineStmt():
            return node.kind == _DEFINED[kind]
        case ast.AlterTableStmt():
            return all(command.subtype in _ALTERED[kind] for command in node.cmds or ())
        case ast.AlterSeqStmt():
            return all(option.defname == "owned_by" for option in node.options or ())
        case ast.CreateTableAsStmt():
            return bool(node.objtype == ObjectType.OBJECT_MATVIEW)
        case ast.CreateStmt():
            return node.tablespacename is None
        case ast.IndexStmt():
            return node.tableSpace is None
        case _:
            return True


def _language(node: Any) -> str:
    named = [str(option.arg.sval) for option in node.options or () if option.defname == "language"]
    return named[0].lower() if len(named) == 1 else "none"
