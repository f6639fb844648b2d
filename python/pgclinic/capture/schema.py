"""The schema of a database as statements in an order that can be replayed, made from the catalog without pg_dump.

pg_dump locks every table for as long as it runs, and must be as new as the server; the catalog needs neither.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pgclinic.capture import statements as ddl
from pgclinic.capture.catalog import LOCKED, Catalog, ObjectId, Texts
from pgclinic.capture.reading import Record
from pgclinic.model.twin import Gap, ObjectKind, SchemaObject

#: Objects with lower numbers came with the server.
FIRST_OWN_OID = 16384
_RANK = {kind: rank for rank, kind in enumerate(ObjectKind)}


@dataclass(frozen=True)
class _Made:
    """An object before it is known what it needs; ``needs`` are those that pg_depend does not have."""

    oid: ObjectId
    kind: ObjectKind
    name: str
    statement: str
    table: str | None = None
    needs: tuple[ObjectId, ...] = ()


def schema_objects(catalog: Catalog, texts: Texts) -> tuple[SchemaObject, ...]:
    """All objects that can be made again, each behind those it needs."""
    made: dict[ObjectId, _Made] = {}
    for source in (_of_schema, _types, _sequences, _functions, _tables, _views, _constraints, _indexes, _parts):
        made |= {one.oid: one for one in source(catalog, texts)}
    return _in_order(made, _needs(catalog, made))


def schema_gaps(catalog: Catalog, texts: Texts) -> list[Gap]:
    """What of the schema could not be captured, with the tables it belongs to."""
    gaps = [
        Gap(what="foreign tables", problem="not captured", tables=names)
        for names in (tuple(row["name"] for row in catalog.relations.values() if row["kind"] == "f"),)
        if names
    ]
    types = [row for row in _own_types(catalog) if row["kind"] == "b" and row["element"] == 0]
    if types:
        gaps.append(Gap(what="base types", problem=f"not captured: {', '.join(sorted(row['name'] for row in types))}"))
    others: dict[str, list[str]] = {}
    for row in catalog.not_captured:
        others.setdefault(row["what"], []).append(row["name"])
    gaps += [Gap(what=what, problem=f"not captured: {', '.join(names)}") for what, names in others.items()]
    by_reason: dict[tuple[str, str], set[str]] = {}
    tables = _tables_of_missing(catalog)
    for (what, oid), reason in texts.missing.items():
        by_reason.setdefault((what, reason), set()).add(tables.get((what, oid), ""))
    for (what, reason), names in sorted(by_reason.items()):
        gaps.append(Gap(what=_WORDS[what], problem=reason, tables=tuple(sorted(names - {""}))))
    return gaps


_WORDS = {
    "pg_index": "indexes",
    "pg_constraint": "checks",
    "pg_attrdef": "generated columns",
    "pg_partitioned_table": "partition keys",
    "size": "sizes",
    "sequence": "sequence values",
    "pg_class": "views",
    "pg_proc": "functions",
    "pg_trigger": "triggers",
    "pg_rewrite": "rules",
    "pg_statistic_ext": "extended statistics",
    "pg_policy": "policies",
}


def _tables_of_missing(catalog: Catalog) -> dict[ObjectId, str]:
    names = {(what, oid): row["name"] for oid, row in catalog.relations.items() for what in _WORDS}
    rows = (
        ("pg_index", catalog.indexes),
        ("pg_constraint", catalog.constraints),
        *((table, [row for row in catalog.parts if row["kind"] == kind]) for kind, table in _PARTS.items()),
    )
    for what, found in rows:
        for row in found:
            if row["relation"] in catalog.relations:
                names[(what, row["oid"])] = catalog.relation_name(row["relation"])
    names |= {("pg_proc", row["oid"]): row["name"] for row in catalog.functions}
    names |= {("sequence", row["oid"]): row["name"] for row in catalog.sequences}
    return names


def _own_types(catalog: Catalog) -> list[Record]:
    """Types that were made in this database, by nobody's extension."""
    schemas = {schema["oid"] for schema in catalog.schemas}
    members = {need["oid"] for need in catalog.dependencies if need["catalog"] == "pg_type" and need["kind"] == "e"}
    return [
        row
        for row in catalog.types.values()
        if row["oid"] >= FIRST_OWN_OID and row["schema_oid"] in schemas and row["oid"] not in members
    ]


def _of_schema(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    schemas = {row["oid"]: row["name"] for row in catalog.schemas}
    roles = sorted({role for policy in texts.policies.values() for role in policy["roles"] or ()})
    for role in roles:
        yield _Made((f"role {role}", 0), ObjectKind.ROLE, f"role {role}", ddl.create_role(role))
    for row in catalog.schemas:
        statement = f"create schema if not exists {row['name']}"
        yield _Made(("pg_namespace", row["oid"]), ObjectKind.SCHEMA, row["name"], statement)
    for row in catalog.extensions:
        schema = schemas.get(row["schema_oid"])
        yield _Made(
            ("pg_extension", row["oid"]),
            ObjectKind.EXTENSION,
            f"extension {row['name']}",
            ddl.create_extension(row, schema),
            needs=(("pg_namespace", row["schema_oid"]),) if schema else (),
        )
    for row in catalog.collations:
        yield _Made(
            ("pg_collation", row["oid"]), ObjectKind.COLLATION, f"collation {row['name']}", ddl.create_collation(row)
        )


def _types(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    for row in _own_types(catalog):
        if row["kind"] in ("e", "d", "c", "r") and (statement := ddl.create_type(catalog, texts, row)):
            yield _Made(("pg_type", row["oid"]), ObjectKind.TYPE, row["name"], statement)


def _sequences(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    for row in catalog.sequences:
        if row["is_identity"]:
            continue
        oid = ("pg_class", row["oid"])
        statement = f"create sequence {row['name']} as {row['type']} {ddl.sequence_options(row)}"
        yield _Made(oid, ObjectKind.SEQUENCE, row["name"], statement)
        owner = catalog.relations.get(row["owner"] or 0)
        if owner is not None:
            column = next(one for one in catalog.columns[owner["oid"]] if one["number"] == row["owner_column"])
            statement = f"alter sequence {row['name']} owned by {owner['name']}.{column['quoted']}"
            yield _Made(
                ("owner", row["oid"]),
                ObjectKind.COLUMN,
                f"owner of {row['name']}",
                statement,
                table=owner["name"],
                needs=(oid, ("pg_class", owner["oid"])),
            )


def _functions(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    for row in catalog.functions:
        statement = ddl.create_aggregate(row) if row["kind"] == "a" else texts.functions.get(row["oid"])
        if statement is not None:
            yield _Made(("pg_proc", row["oid"]), ObjectKind.FUNCTION, row["name"], statement)


def _tables(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    for oid, row in catalog.relations.items():
        if row["kind"] not in ("r", "p"):
            continue
        parents = tuple(("pg_class", parent) for parent in row["parents"] or ())
        yield _Made(
            ("pg_class", oid),
            ObjectKind.TABLE,
            row["name"],
            ddl.create_table(catalog, texts, oid),
            row["name"],
            parents,
        )
        yield from _column_settings(catalog, row)


def _column_settings(catalog: Catalog, row: Record) -> Iterator[_Made]:
    inherited: dict[str, str | None] = {}
    for parent in row["parents"] or ():
        inherited |= {column["name"]: column["default"] for column in catalog.columns.get(parent, ())}
    for column in catalog.columns.get(row["oid"], ()):
        comes_down = column["name"] in inherited and (row["is_partition"] or not column["is_local"])
        parts = ddl.column_settings(catalog, column, inherited.get(column["name"]), inherits=comes_down)
        for number, part in enumerate(parts):
            yield _Made(
                (f"column {number}", (row["oid"] << 16) + column["number"]),
                ObjectKind.COLUMN,
                f"{row['name']}.{column['quoted']} {part.split(' ')[1].strip('(')}",
                f"alter table only {row['name']} alter column {column['quoted']} {part}",
                table=row["name"],
                needs=(("pg_class", row["oid"]),),
            )


def _views(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    for oid, row in catalog.relations.items():
        text = texts.views.get(oid)
        if row["kind"] in ("v", "m") and text:
            yield _Made(("pg_class", oid), ObjectKind.VIEW, row["name"], ddl.create_view(catalog, row, text))


def _constraints(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    kinds = {"p": ObjectKind.KEY, "u": ObjectKind.KEY, "x": ObjectKind.KEY, "f": ObjectKind.FOREIGN_KEY}
    options = {row["oid"]: row["options"] for row in catalog.indexes}
    for row in catalog.constraints:
        if row["relation"] not in catalog.relations or row["is_copy"] or not row["is_local"]:
            continue
        definition = texts.constraints.get(row["oid"])
        if definition is None:
            continue
        table = catalog.relation_name(row["relation"])
        made = _Made(
            ("pg_constraint", row["oid"]),
            kinds.get(row["kind"], ObjectKind.CHECK),
            f"{table}.{row['quoted']}",
            f"alter table {table} add constraint {row['quoted']} {definition}",
            table=table,
            needs=(("pg_class", row["relation"]),),
        )
        yield made
        if row["kind"] in ("p", "u") and (said := ddl.options_clause(options.get(row["index_oid"]))):
            yield _index_options(catalog, row, table, said)


def _index_options(catalog: Catalog, row: Record, table: str, options: list[str]) -> _Made:
    """Storage parameters of a key's index, which ADD CONSTRAINT cannot be given behind its own words."""
    index = next(one["name"] for one in catalog.indexes if one["oid"] == row["index_oid"])
    return _Made(
        ("options", row["oid"]),
        ObjectKind.INDEX,
        f"options of {index}",
        f"alter index {index} set ({', '.join(options)})",
        table=table,
        needs=(("pg_constraint", row["oid"]),),
    )


def _indexes(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    of_constraints = {row["index_oid"] for row in catalog.constraints if row["kind"] in ("p", "u", "x")}
    for row in catalog.indexes:
        text = texts.indexes.get(row["oid"])
        owner = catalog.relations.get(row["relation"])
        if text is None or owner is None or row["oid"] in of_constraints or row["is_copy"]:
            continue
        if not row["is_valid"] and owner["kind"] != "p":
            continue
        yield _Made(
            ("pg_class", row["oid"]),
            ObjectKind.INDEX,
            row["name"],
            text[0].replace(" ON ONLY ", " ON ", 1) if owner["kind"] == "p" else text[0],
            table=owner["name"],
            needs=(("pg_class", row["relation"]),),
        )


_PARTS = {"trigger": "pg_trigger", "rule": "pg_rewrite", "policy": "pg_policy", "statistics": "pg_statistic_ext"}
_KINDS = {
    "trigger": ObjectKind.TRIGGER,
    "rule": ObjectKind.TRIGGER,
    "policy": ObjectKind.POLICY,
    "statistics": ObjectKind.STATISTICS,
}
_DISABLED = "D"


def _parts(catalog: Catalog, texts: Texts) -> Iterator[_Made]:
    """Triggers, rules, policies and extended statistics. What is disabled has no effect and is left out."""
    found = {"trigger": texts.triggers, "rule": texts.rules, "statistics": texts.statistics}
    for row in catalog.parts:
        owner = catalog.relations.get(row["relation"])
        if owner is None or row["enabled"] == _DISABLED:
            continue
        table = owner["name"]
        policy = texts.policies.get(row["oid"]) if row["kind"] == "policy" else None
        if policy is not None:
            statement = ddl.create_policy(table, row["name"], policy)
        else:
            statement = found.get(row["kind"], {}).get(row["oid"], "")
        if not statement:
            continue
        roles = tuple((f"role {role}", 0) for role in policy["roles"] or ()) if policy else ()
        yield _Made(
            (_PARTS[row["kind"]], row["oid"]),
            _KINDS[row["kind"]],
            f"statistics {row['name']}" if row["kind"] == "statistics" else f"{table}.{row['kind']} {row['name']}",
            statement,
            table=table,
            needs=(("pg_class", row["relation"]), *roles),
        )
    for oid, row in catalog.relations.items():
        if row["row_security"] and row["kind"] in ("r", "p"):
            yield _Made(
                ("row security", oid),
                ObjectKind.POLICY,
                f"{row['name']}.row security",
                ddl.row_security(row["name"], forced=row["row_security_forced"]),
                table=row["name"],
                needs=(("pg_class", oid),),
            )


def _needs(catalog: Catalog, made: dict[ObjectId, _Made]) -> dict[ObjectId, set[ObjectId]]:
    """What each object needs directly: its own list, its schema, and pg_depend with parts resolved to their owners."""
    owners = _owners(catalog)

    def owner(oid: ObjectId) -> ObjectId | None:
        seen: set[ObjectId] = set()
        while oid not in made and oid in owners and oid not in seen:
            seen.add(oid)
            oid = owners[oid]
        return oid if oid in made else None

    needs: dict[ObjectId, set[ObjectId]] = {oid: set() for oid in made}
    owning_tables = {("pg_class", row["oid"]) for row in catalog.sequences}
    for row in catalog.dependencies:
        who, what = (row["catalog"], row["oid"]), (row["needed_catalog"], row["needed"])
        if row["kind"] == "a" and who in owning_tables:
            continue  # a sequence goes with the column that owns it, and does not need it
        needy, needed = owner(who), owner(what)
        if needy and needed and needy != needed:
            needs[needy].add(needed)
    for oid, one in made.items():
        needs[oid] |= {resolved for need in one.needs if (resolved := owner(need)) and resolved != oid}
    return needs


def _owners(catalog: Catalog) -> dict[ObjectId, ObjectId]:
    """To which object a part belongs: members to extensions, row types to tables, rules to views, indexes to keys."""
    owners: dict[ObjectId, ObjectId] = {}
    for row in catalog.dependencies:
        who, what = (row["catalog"], row["oid"]), (row["needed_catalog"], row["needed"])
        is_default = row["catalog"] == "pg_attrdef" and row["needed_catalog"] == "pg_class" and row["kind"] == "a"
        is_domain_check = (
            row["catalog"] == "pg_constraint" and row["needed_catalog"] == "pg_type" and row["kind"] == "a"
        )
        if row["kind"] == "e" or (row["kind"] == "i" and owners.get(who) is None) or is_default or is_domain_check:
            owners[who] = what
    return owners


def _in_order(made: dict[ObjectId, _Made], needs: dict[ObjectId, set[ObjectId]]) -> tuple[SchemaObject, ...]:
    """Each behind what it needs, and else by kind. Objects that need each other come by kind alone."""
    place = {oid: (_RANK[one.kind], number) for number, (oid, one) in enumerate(made.items())}
    open_needs = {oid: set(found) for oid, found in needs.items()}
    needed_by: dict[ObjectId, list[ObjectId]] = {}
    for oid, found in needs.items():
        for need in found:
            needed_by.setdefault(need, []).append(oid)
    ready = [(place[oid], oid) for oid, found in open_needs.items() if not found]
    heapq.heapify(ready)
    waiting = {oid for oid, found in open_needs.items() if found}
    ordered: list[ObjectId] = []
    while ready or waiting:
        if not ready:
            first = min(waiting, key=place.__getitem__)
            waiting.discard(first)
            heapq.heappush(ready, (place[first], first))
        _, oid = heapq.heappop(ready)
        ordered.append(oid)
        for other in needed_by.get(oid, ()):
            open_needs[other].discard(oid)
            if other in waiting and not open_needs[other]:
                waiting.discard(other)
                heapq.heappush(ready, (place[other], other))
    return tuple(_object(made[oid], (made[need].name for need in needs[oid])) for oid in ordered)


def _object(made: _Made, needs: Iterable[str]) -> SchemaObject:
    return SchemaObject(
        kind=made.kind, name=made.name, statement=made.statement, table=made.table, needs=tuple(sorted(set(needs)))
    )


__all__ = ["LOCKED", "schema_gaps", "schema_objects"]
