"""What a version refuses that the one before takes."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bare_twin import bare_twin
from pgclinic.model.twin import ObjectKind, SchemaObject, TwinStatement, TwinTable, TwinWorkload
from pgclinic.tune.upgrade.preflight import SchemaSeen, SortedBy, compared, lock_room, without_rows
from pgclinic.twin.build import LeftOut

STATEMENTS = (
    TwinStatement(query_id=1, text="select 1", calls=1, rows=1, total_ms=10.0),
    TwinStatement(query_id=2, text="select 5 !", calls=1, rows=1, total_ms=30.0),
    TwinStatement(query_id=3, text="vacuum", calls=1, rows=0, total_ms=60.0, kind="utility"),
)


def extension(name: str) -> SchemaObject:
    return SchemaObject(kind=ObjectKind.EXTENSION, name=f"extension {name}", statement=f"create extension {name}")


TWIN = replace(
    bare_twin([TwinTable(name="public.t", columns=(), rows=10.0, pages=2)]),
    objects=(extension("hstore"), extension("postgis"), extension("citext")),
    workload=TwinWorkload(statements=STATEMENTS),
)


def seen(left_out: tuple[LeftOut, ...] = (), unparsed: dict[int, str] | None = None, **extensions: str) -> SchemaSeen:
    return SchemaSeen(left_out, unparsed or {}, extensions)


def test_what_only_the_target_refuses_is_named() -> None:
    lost, both = LeftOut("view", "public.v", "no such operator"), LeftOut("view", "public.w", "unreadable")
    found = compared(TWIN, seen((both,)), seen((both, lost), {2: "operator does not exist", 3: "never asked"}))
    assert [(one.kind, one.name, one.reason) for one in found.objects] == [("view", "public.v", "no such operator")]
    assert [one.name for one in found.skipped] == ["public.w"]
    (statement,) = found.statements
    assert (statement.query_id, statement.time_share, statement.reason) == (2, 0.3, "operator does not exist")


def test_what_both_refuse_is_no_matter_of_the_upgrade() -> None:
    fault = {2: "operator does not exist"}
    assert compared(TWIN, seen((), fault), seen((), fault)).statements == ()


def test_extensions_that_are_missing_or_of_another_version() -> None:
    old = seen(hstore="1.7", citext="1.6", postgis="3.4")
    found = compared(TWIN, old, seen(hstore="1.8", citext="1.6"))
    assert [(one.name, one.before, one.after) for one in found.extensions] == [
        ("hstore", "1.7", "1.8"),
        ("postgis", "3.4", None),
    ]


def test_a_schema_without_rows() -> None:
    assert without_rows(TWIN).workload.statements == ()
    assert all(table.rows == 0.0 for table in without_rows(TWIN).tables)


def sorted_by(*collations: SortedBy) -> SchemaSeen:
    return SchemaSeen((), {}, {}, collations)


def test_collations_of_indexes_whose_version_differs() -> None:
    old = sorted_by(
        SortedBy("de-x-icu", "i", "153.80", 2), SortedBy("fr-x-icu", "i", "153.80", 1), SortedBy("C", "c", None, 4)
    )
    new = sorted_by(
        SortedBy("de-x-icu", "i", "153.120", 2), SortedBy("fr-x-icu", "i", "153.80", 1), SortedBy("C", "c", None, 4)
    )
    (found,) = compared(TWIN, old, new).collations
    assert (found.name, found.before, found.after, found.indexes) == ("de-x-icu", "153.80", "153.120", 2)
    assert compared(TWIN, old, old).collations == ()


def test_the_locale_of_the_database_may_differ_between_machines() -> None:
    seen = sorted_by(SortedBy("default", "d", None, 7))
    (found,) = compared(replace(TWIN, collate="en_US.UTF-8"), seen, seen).collations
    assert (found.name, found.before, found.after, found.indexes) == ("en_US.UTF-8", None, None, 7)
    assert compared(replace(TWIN, collate="C"), seen, seen).collations == ()


def test_more_tables_than_the_lock_table_has_room_for() -> None:
    tables = tuple(TwinTable(name=f"public.t{number}", columns=()) for number in range(1001))
    few = {"max_locks_per_transaction": "10"}
    found = lock_room(replace(TWIN, tables=tables, settings=few))
    assert found is not None
    assert (found.tables, found.room, found.enough) == (1001, 1000, 11)
    assert lock_room(replace(TWIN, tables=tables[:1000], settings=few)) is None
    assert lock_room(replace(TWIN, tables=tables, settings=few | {"max_prepared_transactions": "1"})) is None
    assert lock_room(replace(TWIN, tables=tables)) is None
