"""The catalog of one database as a capture reads it: rows of one snapshot, and the texts that are printed behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pgclinic.capture.reading import Definitions, ReadingSession, Record
from pgclinic.pg.query_files import query

COMPRESSION_SINCE = 14
ObjectId = tuple[str, int]


@dataclass(frozen=True)
class Catalog:
    """Rows by the names that the queries give their columns; relations and types by oid."""

    server: Record
    settings: dict[str, str]
    relations: dict[int, Record]
    columns: dict[int, list[Record]]
    types: dict[int, Record]
    constraints: list[Record]
    indexes: list[Record]
    sequences: list[Record]
    functions: list[Record]
    parts: list[Record]
    schemas: list[Record]
    extensions: list[Record]
    collations: list[Record]
    dependencies: list[Record]
    #: What a twin does not have: the kind of object and its name.
    not_captured: list[Record] = field(default_factory=list)
    compression: dict[tuple[int, str], str] = field(default_factory=dict)

    def relation_name(self, oid: int) -> str:
        return str(self.relations[oid]["name"])


@dataclass(frozen=True)
class Texts:
    """What PostgreSQL prints of each object, by its oid. ``missing`` has the reason where it printed none."""

    indexes: dict[int, tuple[str, list[str], str | None]]
    constraints: dict[int, str]
    generated: dict[tuple[int, int], str]
    partition_keys: dict[int, str]
    views: dict[int, str]
    functions: dict[int, str]
    triggers: dict[int, str]
    rules: dict[int, str]
    statistics: dict[int, str]
    policies: dict[int, Record]
    sizes: dict[int, int]
    sequence_values: dict[int, int | None]
    missing: dict[ObjectId, str]


#: The reason of a text that is missing because its table stayed locked; any other is the server's message.
LOCKED = "locked"


def read_settings(reading: ReadingSession) -> dict[str, str]:
    """Settings of the server and the database that decide what a load does. Before any setting of the session's own."""
    return {row["name"]: row["current_setting"] for row in reading.records(query("twin_settings", reading.major))}


def read_table_names(reading: ReadingSession) -> list[str]:
    """Tables with their schemas, quoted."""
    rows = reading.records(query("twin_relations", reading.major))
    return [row["name"] for row in rows if row["kind"] in ("r", "p")]


def read_catalog(reading: ReadingSession, settings: dict[str, str]) -> Catalog:
    """The catalog as of now; in a snapshot of one moment if the caller opened one. Raises QueryError."""
    major = reading.major
    columns: dict[int, list[Record]] = {}
    for row in reading.records(query("twin_columns", major)):
        columns.setdefault(row["relation"], []).append(row)
    compression = []
    if major >= COMPRESSION_SINCE:
        compression = reading.records(query("twin_compression", major))
    of_schema = reading.records(query("twin_parts_of_schema", major))
    return Catalog(
        server=reading.records(query("twin_server", major))[0],
        settings=settings,
        relations={row["oid"]: row for row in reading.records(query("twin_relations", major))},
        columns=columns,
        types={row["oid"]: row for row in reading.records(query("twin_types", major))},
        constraints=reading.records(query("twin_constraints", major)),
        indexes=reading.records(query("twin_indexes", major)),
        sequences=reading.records(query("twin_sequences", major)),
        functions=reading.records(query("twin_functions", major)),
        parts=reading.records(query("twin_parts", major)),
        schemas=[row for row in of_schema if row["kind"] == "schema"],
        extensions=[row for row in of_schema if row["kind"] == "extension"],
        collations=reading.records(query("twin_collations", major)),
        dependencies=reading.records(query("twin_dependencies", major)),
        not_captured=reading.records(query("twin_not_captured", major)),
        compression={(row["relation"], row["name"]): row["compression"] for row in compression},
    )


class _Printer:
    """Prints objects of one catalog and remembers those that could not be printed."""

    def __init__(self, reading: ReadingSession) -> None:
        self._reading = reading
        self.missing: dict[ObjectId, str] = {}

    def of(self, catalog: str, text: str, relations_of: dict[int, tuple[int, ...]]) -> Definitions:
        found = self._reading.definitions(text, relations_of)
        self.missing |= {(catalog, oid): reason for oid, reason in found.failed.items()}
        self.missing |= {(catalog, oid): LOCKED for oid in found.locked}
        return found


def read_sizes(reading: ReadingSession) -> dict[int, int]:
    """Pages of the files of all relations that nobody has locked, by oid: before a snapshot.

    A snapshot keeps the dead versions of rows that are updated all the time, and small tables grow by them.
    """
    major = reading.major
    stored = {row["oid"] for row in reading.records(query("twin_relations", major)) if row["kind"] in ("r", "m")}
    relations_of: dict[int, tuple[int, ...]] = {oid: (oid,) for oid in stored}
    for row in reading.records(query("twin_indexes", major)):
        if row["relation"] in stored:
            relations_of[row["oid"]] = row["oid"], row["relation"]
    rows = reading.unlocked(query("twin_sizes", major), relations_of)
    return {row[0]: row[1] for row in rows if row[1] is not None}


def read_texts(reading: ReadingSession, catalog: Catalog, sizes_before: Mapping[int, int]) -> Texts:
    """The texts of all objects of ``catalog`` whose tables can be read now; sizes are ``sizes_before`` where known.

    Raises QueryError.
    """
    major, out = reading.major, _Printer(reading)
    tables = catalog.relations
    indexes = out.of(
        "pg_index",
        query("twin_define_indexes", major),
        {row["oid"]: (row["relation"],) for row in catalog.indexes if row["relation"] in tables},
    )
    constraints = out.of(
        "pg_constraint",
        query("twin_define_constraints", major),
        {
            row["oid"]: (row["relation"],) if row["kind"] in ("c", "x") and row["relation"] else ()
            for row in catalog.constraints
            if row["relation"] in tables or row["type_oid"]
        },
    )
    generated = out.of(
        "pg_attrdef",
        query("twin_define_generated", major),
        {oid: (oid,) for oid in tables if any(column["generated"] for column in catalog.columns.get(oid, ()))},
    )
    partition_keys = out.of(
        "pg_partitioned_table",
        query("twin_define_partition_keys", major),
        {oid: (oid,) for oid, row in tables.items() if row["kind"] == "p"},
    )
    stored = {oid for oid, row in tables.items() if row["kind"] in ("r", "m")}
    sizes = out.of(
        "size",
        query("twin_sizes", major),
        {oid: (oid,) for oid in stored}
        | {row["oid"]: (row["oid"], row["relation"]) for row in catalog.indexes if row["relation"] in stored},
    )
    sequences = out.of(
        "sequence",
        query("twin_sequence_values", major),
        {row["oid"]: (row["oid"],) for row in catalog.sequences if row["is_readable"]},
    )
    parts = _read_parts(out, major, catalog)
    return Texts(
        indexes={oid: (row[0], row[1] or [], row[2]) for oid, row in indexes.by_oid().items()},
        constraints={oid: row[0] for oid, row in constraints.by_oid().items()},
        generated={(row[0], row[1]): row[2] for row in generated.rows},
        partition_keys={oid: row[0] for oid, row in partition_keys.by_oid().items()},
        sizes={oid: sizes_before.get(oid, row[0]) for oid, row in sizes.by_oid().items()},
        sequence_values={row[0]: row[1] for row in sequences.rows},
        missing=out.missing,
        **parts,
    )


def _read_parts(out: _Printer, major: int, catalog: Catalog) -> dict[str, Any]:
    """Texts of views, functions, and of what hangs on tables."""
    read_by = _relations_read(catalog)
    views = out.of(
        "pg_class",
        query("twin_define_views", major),
        {oid: (oid, *read_by.get(oid, ())) for oid, row in catalog.relations.items() if row["kind"] in ("v", "m")},
    )
    functions = out.of("pg_proc", query("twin_define_functions", major), _relations_of_functions(catalog))
    hanging = {
        kind: out.of(table, text, _of_kind(catalog.parts, kind))
        for kind, table, text in (
            ("trigger", "pg_trigger", query("twin_define_triggers", major)),
            ("rule", "pg_rewrite", query("twin_define_rules", major)),
            ("statistics", "pg_statistic_ext", query("twin_define_statistics", major)),
            ("policy", "pg_policy", query("twin_define_policies", major)),
        )
    }
    policy_columns = ("permissive", "command", "roles", "using", "check")
    return {
        "views": {oid: row[0] for oid, row in views.by_oid().items()},
        "functions": {oid: row[0] for oid, row in functions.by_oid().items()},
        "triggers": {oid: row[0] for oid, row in hanging["trigger"].by_oid().items()},
        "rules": {oid: row[0] for oid, row in hanging["rule"].by_oid().items()},
        "statistics": {oid: row[0] for oid, row in hanging["statistics"].by_oid().items()},
        "policies": {
            oid: dict(zip(policy_columns, row, strict=True)) for oid, row in hanging["policy"].by_oid().items()
        },
    }


def _of_kind(parts: Iterable[Record], kind: str) -> dict[int, tuple[int, ...]]:
    return {row["oid"]: (row["relation"],) for row in parts if row["kind"] == kind}


def _relations_of_functions(catalog: Catalog) -> dict[int, tuple[int, ...]]:
    """The tables that printing a function locks: those in a body of standard SQL."""
    found: dict[int, tuple[int, ...]] = {row["oid"]: () for row in catalog.functions}
    for row in catalog.dependencies:
        if row["catalog"] == "pg_proc" and row["needed_catalog"] == "pg_class" and row["oid"] in found:
            found[row["oid"]] += (row["needed"],)
    return found


def _relations_read(catalog: Catalog) -> dict[int, set[int]]:
    """The tables that printing a view locks: those which its rule names."""
    view_of = {
        row["oid"]: row["needed"]
        for row in catalog.dependencies
        if row["catalog"] == "pg_rewrite" and row["needed_catalog"] == "pg_class" and row["kind"] == "i"
    }
    found: dict[int, set[int]] = {}
    for row in catalog.dependencies:
        if row["catalog"] == "pg_rewrite" and row["needed_catalog"] == "pg_class" and row["oid"] in view_of:
            found.setdefault(view_of[row["oid"]], set()).add(row["needed"])
    return found
