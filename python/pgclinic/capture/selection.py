"""A part of a twin: some tables, what they need, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from pgclinic.errors import UnknownNameError
from pgclinic.model.twin import ObjectKind, SchemaObject, Twin, TwinTable

#: Objects that are kept if something that is kept needs them.
_NEEDED = frozenset(
    {
        ObjectKind.ROLE,
        ObjectKind.EXTENSION,
        ObjectKind.SCHEMA,
        ObjectKind.COLLATION,
        ObjectKind.TYPE,
        ObjectKind.SEQUENCE,
        ObjectKind.FUNCTION,
    }
)


def selected(twin: Twin, patterns: Sequence[str]) -> Twin:
    """The twin with the tables that ``patterns`` name, their partitions, and the tables that they are partitions of.

    Foreign keys to other tables are left out, and so are views that read them. Raises UnknownNameError.
    """
    if not patterns:
        return twin
    kept = _with_families(twin.tables, tables_named([table.name for table in twin.tables], patterns))
    objects = _objects(twin.objects, kept)
    names = {schema_object.name for schema_object in objects}
    return msgspec.structs.replace(
        twin,
        objects=objects,
        tables=tuple(
            msgspec.structs.replace(table, foreign_keys=tuple(key for key in table.foreign_keys if key.parent in kept))
            for table in twin.tables
            if table.name in kept
        ),
        sequences=tuple(
            sequence
            for sequence in twin.sequences
            if sequence.name in names or (sequence.owned_by is not None and sequence.owned_by.rsplit(".", 1)[0] in kept)
        ),
        gaps=tuple(
            msgspec.structs.replace(gap, tables=tuple(name for name in gap.tables if name in kept))
            for gap in twin.gaps
            if not gap.tables or not kept.isdisjoint(gap.tables)
        ),
    )


def tables_named(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """The qualified names that ``patterns`` mean. Raises UnknownNameError for one that means none."""
    plain = {name: name.replace('"', "") for name in names}
    found: set[str] = set()
    for pattern in patterns:
        wanted = pattern.replace('"', "")
        matching = {
            name
            for name, bare in plain.items()
            if fnmatchcase(bare, wanted) or ("." not in wanted and fnmatchcase(bare.split(".", 1)[1], wanted))
        }
        if not matching:
            raise UnknownNameError(
                "table", pattern, [*plain.values(), *(bare.split(".", 1)[1] for bare in plain.values())]
            )
        found |= matching
    return found


def _with_families(tables: Sequence[TwinTable], kept: set[str]) -> set[str]:
    """With the tables above each, and the partitions below them."""
    above = {table.name: table.parent for table in tables if table.parent is not None}
    for name in tuple(kept):
        at: str | None = name
        while at is not None:
            kept.add(at)
            at = above.get(at)
    grew = True
    while grew:
        below = {name for name, parent in above.items() if parent in kept} - kept
        kept |= below
        grew = bool(below)
    return kept


def _objects(objects: Sequence[SchemaObject], kept: set[str]) -> tuple[SchemaObject, ...]:
    by_name = {schema_object.name: schema_object for schema_object in objects}
    lost: set[str] = set()
    for schema_object in objects:
        is_lost = schema_object.table is not None and schema_object.table not in kept
        if is_lost or any(need in lost for need in schema_object.needs):
            lost.add(schema_object.name)
    roots = [
        schema_object.name
        for schema_object in objects
        if schema_object.name not in lost
        and (
            schema_object.table in kept
            or (schema_object.kind is ObjectKind.VIEW and _reads(schema_object, by_name, kept))
        )
    ]
    wanted = _closure(roots, by_name) - lost
    # A trigger's function and whatever else is loose goes with what needs it.
    return tuple(one for one in objects if one.name in wanted or (one.name in roots and one.kind not in _NEEDED))


def _reads(view: SchemaObject, by_name: Mapping[str, SchemaObject], kept: set[str]) -> bool:
    """Whether a view reads one of the tables, directly or by another view."""
    return not _closure([view.name], by_name).isdisjoint(kept)


def _closure(names: Iterable[str], by_name: Mapping[str, SchemaObject]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name in by_name:
            found.add(name)
            waiting += by_name[name].needs
    return found
