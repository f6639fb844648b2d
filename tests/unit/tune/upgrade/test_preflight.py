"""What a version refuses that the one before takes."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bare_twin import bare_twin
from pgclinic.model.twin import ObjectKind, SchemaObject, TwinStatement, TwinTable, TwinWorkload
from pgclinic.tune.upgrade.preflight import SchemaSeen, compared, without_rows
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
