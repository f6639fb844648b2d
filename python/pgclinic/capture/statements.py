"""The statements that make tables, types, sequences and the rest again, from the catalog. No owner, no grant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgclinic.capture.catalog import Catalog, Texts
from pgclinic.capture.reading import Record
from pgclinic.sql.quoting import literal, unquoted

_PROVIDERS = {"c": "libc", "i": "icu", "b": "builtin"}
_PARALLEL = {"s": "safe", "r": "restricted", "u": "unsafe"}


def options_clause(options: Iterable[str] | None, prefix: str = "") -> list[str]:
    """Storage parameters as pg_class has them, ``fillfactor=80``, as they stand in WITH."""
    return [
        f"{prefix}{name}={literal(value)}" for name, _, value in (option.partition("=") for option in options or ())
    ]


def create_table(catalog: Catalog, texts: Texts, oid: int) -> str:
    """CREATE TABLE, with its defaults, without keys and checks, which are made behind the rows."""
    row = catalog.relations[oid]
    parents = [catalog.relation_name(parent) for parent in row["parents"] or () if parent in catalog.relations]
    unlogged = "unlogged " if row["persistence"] == "u" else ""
    lines = []
    if not row["is_partition"]:
        columns = [column for column in catalog.columns.get(oid, ()) if column["is_local"]]
        lines = [f"    {column_definition(catalog, texts, column)}" for column in columns]
    words = [f"create {unlogged}table {row['name']}"]
    if row["is_partition"] and parents:
        words += [f"partition of {parents[0]}", row["bound"] or "default"]
    else:
        words.append("(\n" + ",\n".join(lines) + "\n)" if lines else "()")
        if parents:
            words.append(f"inherits ({', '.join(parents)})")
    if row["kind"] == "p":
        words.append(f"partition by {texts.partition_keys.get(oid, '')}")
    if row["method"] not in (None, "heap"):
        words.append(f"using {row['method']}")
    if options := options_clause(row["options"]) + options_clause(row["toast_options"], "toast."):
        words.append(f"with ({', '.join(options)})")
    return " ".join(words)


def column_definition(catalog: Catalog, texts: Texts, column: Record) -> str:
    """A column as it stands in CREATE TABLE."""
    words = [column["quoted"], column["type"]]
    if column["collation"]:
        words.append(f"collate {column['collation']}")
    if column["generated"]:
        expression = texts.generated.get((column["relation"], column["number"]))
        if expression is not None:
            stored = "stored" if column["generated"] == "s" else "virtual"
            words.append(f"generated always as ({expression}) {stored}")
    elif column["identity"]:
        when = "always" if column["identity"] == "a" else "by default"
        words.append(f"generated {when} as identity{_identity_options(catalog, column)}")
    elif column["default"] is not None:
        words.append(f"default {column['default']}")
    if column["not_null"]:
        words.append("not null")
    return " ".join(words)


def _identity_options(catalog: Catalog, column: Record) -> str:
    for row in catalog.sequences:
        if row["is_identity"] and (row["owner"], row["owner_column"]) == (column["relation"], column["number"]):
            return f" (sequence name {row['name']} {sequence_options(row)})"
    return ""


def sequence_options(row: Record) -> str:
    cycle = " cycle" if row["cycles"] else ""
    return (
        f"start with {row['start']} increment by {row['increment']} minvalue {row['minimum']} "
        f"maxvalue {row['maximum']} cache {row['cache']}{cycle}"
    )


def column_settings(catalog: Catalog, column: Record, parent_default: str | None, *, inherits: bool) -> list[str]:
    """What ALTER COLUMN has to say of a column, each part as it follows the column's name."""
    parts = []
    storage = {"p": "plain", "e": "external", "x": "extended", "m": "main"}.get(column["storage"] or "")
    if storage:
        parts.append(f"set storage {storage}")
    if compression := catalog.compression.get((column["relation"], column["name"])):
        parts.append(f"set compression {compression}")
    if column["statistics_target"] >= 0:
        parts.append(f"set statistics {column['statistics_target']}")
    if column["options"]:
        parts.append(f"set ({', '.join(options_clause(column['options']))})")
    if inherits and not column["generated"] and not column["identity"] and column["default"] != parent_default:
        parts.append("drop default" if column["default"] is None else f"set default {column['default']}")
    return parts


def create_type(catalog: Catalog, texts: Texts, row: Record) -> str | None:
    """CREATE TYPE or CREATE DOMAIN; None for a type whose functions are written in C."""
    match row["kind"]:
        case "e":
            return f"create type {row['name']} as enum ({', '.join(literal(label) for label in row['labels'] or ())})"
        case "d":
            return _create_domain(catalog, texts, row)
        case "c":
            columns = [
                f"{column['quoted']} {column['type']}"
                + (f" collate {column['collation']}" if column["collation"] else "")
                for column in catalog.columns.get(row["relation"], ())
            ]
            return f"create type {row['name']} as ({', '.join(columns)})"
        case "r":
            options = {
                "subtype": row["subtype_name"],
                "subtype_opclass": row["operator_class"],
                "collation": row["range_collation"],
                "subtype_diff": row["difference"],
            }
            said = ", ".join(f"{name} = {value}" for name, value in options.items() if value)
            return f"create type {row['name']} as range ({said})"
        case _:
            return None


def _create_domain(catalog: Catalog, texts: Texts, row: Record) -> str:
    words = [f"create domain {row['name']} as {row['base_name']}"]
    if row["collation"]:
        words.append(f"collate {row['collation']}")
    if row["default"] is not None:
        words.append(f"default {row['default']}")
    if row["not_null"]:
        words.append("not null")
    words += [
        f"constraint {check['quoted']} {texts.constraints[check['oid']]}"
        for check in catalog.constraints
        if check["type_oid"] == row["oid"] and check["oid"] in texts.constraints
    ]
    return " ".join(words)


def create_aggregate(row: Record) -> str:
    options = {
        "sfunc": row["transition"],
        "stype": row["state"],
        "finalfunc": row["final"],
        "combinefunc": row["combine"],
        "initcond": None if row["initial"] is None else literal(row["initial"]),
        "parallel": _PARALLEL[row["parallel"]],
    }
    return (
        f"create aggregate {row['name']} ({', '.join(f'{name} = {value}' for name, value in options.items() if value)})"
    )


def create_collation(row: Record) -> str:
    """CREATE COLLATION; a locale that the lab lacks is an error there."""
    options = {"provider": _PROVIDERS.get(row["provider"], "libc")}
    if row["provider"] == "c":
        options |= {"lc_collate": literal(row["collate"] or "C"), "lc_ctype": literal(row["ctype"] or "C")}
    else:
        options["locale"] = literal(row["locale"] or row["collate"] or "und")
    if not row["is_deterministic"]:
        options["deterministic"] = "false"
    return f"create collation {row['name']} ({', '.join(f'{name} = {value}' for name, value in options.items())})"


def create_extension(row: Record, schema: str | None) -> str:
    return f"create extension if not exists {row['name']}" + (f" schema {schema}" if schema else "")


def create_role(quoted: str) -> str:
    """A role as policies name it: it can do nothing."""
    return (
        f"do $do$ begin if not exists (select from pg_catalog.pg_roles where rolname = {literal(unquoted(quoted))}) "
        f"then create role {quoted} nologin; end if; end $do$"
    )


def create_view(catalog: Catalog, row: Record, text: str) -> str:
    columns = ", ".join(column["quoted"] for column in catalog.columns.get(row["oid"], ()))
    options = options_clause(row["options"])
    said = f" with ({', '.join(options)})" if options else ""
    what = "materialized view" if row["kind"] == "m" else "view"
    using = f" using {row['method']}" if row["kind"] == "m" and row["method"] not in (None, "heap") else ""
    return f"create {what} {row['name']}{f' ({columns})' if columns else ''}{using}{said} as{_body(text)}"


def _body(text: str) -> str:
    return "\n" + text.strip().rstrip(";")


def create_policy(table: str, name: str, policy: Record) -> str:
    words = [
        f"create policy {name} on {table} as {'permissive' if policy['permissive'] else 'restrictive'}",
        f"for {policy['command']} to {', '.join(policy['roles'] or ['public'])}",
    ]
    if policy["using"] is not None:
        words.append(f"using ({policy['using']})")
    if policy["check"] is not None:
        words.append(f"with check ({policy['check']})")
    return " ".join(words)


def row_security(table: str, *, forced: bool) -> str:
    return f"alter table {table} enable row level security" + (", force row level security" if forced else "")


def script(statements: Sequence[str]) -> str:
    """All statements as psql reads them. Bodies of functions may name what comes later."""
    head = "set check_function_bodies = off;\nset client_min_messages = warning;\n"
    return head + "".join(f"\n{statement.strip().rstrip(';')};\n" for statement in statements)
