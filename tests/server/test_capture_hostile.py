"""Catalogs with hostile names, odd orders and broken objects are captured, and made again as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.captured import captured, column_of, replayed, table_of
from fixtures.lab_home import binaries_for, temporary_home
from fixtures.owner_session import owner_session
from fixtures.standby import standby_of
from pgclinic.capture.twin import capture_twin
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.twin import ObjectKind, Twin
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access
from pgclinic.twin.mask import mask_twin

SQL = Path(__file__).parents[1] / "fixtures" / "hostile_catalog.sql"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture(scope="module", params=("18", "16", "15", "14", "13"))
def server(request: pytest.FixtureRequest, home: Path) -> Iterator[RunningServer]:
    with start_server(binaries_for(request.param), settings={"autovacuum": "off"}) as running:
        with owner_session(running) as client:
            client.execute("create database hostile")
        with owner_session(running, "hostile") as client:
            client.execute(SQL.read_text(encoding="utf-8"))
            client.execute("analyze")
        yield running


def database(running: RunningServer, name: str, *contents: str) -> None:
    """A new database with what these statements make."""
    with owner_session(running) as client:
        client.execute(f"create database {name}")
    with owner_session(running, name) as client:
        for statement in contents:
            client.execute(statement)


def statements(twin: Twin) -> dict[str, str]:
    return {one.name: one.statement for one in twin.objects}


def test_every_object_is_made_again_as_it_was(server: RunningServer) -> None:
    twin = captured(server, "hostile")
    again = replayed(server, twin, "hostile_again")
    assert statements(again) == statements(twin)
    assert {gap.what for gap in twin.gaps} == {"pg_stat_statements"}
    assert {table.name for table in again.tables} == {table.name for table in twin.tables}
    for table in twin.tables:
        other = table_of(again, table.name)
        assert {
            (column.name, column.type, column.default, column.not_null, column.generated, column.identity)
            for column in table.columns
        } == {
            (column.name, column.type, column.default, column.not_null, column.generated, column.identity)
            for column in other.columns
        }
        assert (table.keys, table.checks, table.fillfactor) == (other.keys, other.checks, other.fillfactor)


def test_what_is_easily_forgotten_is_there(server: RunningServer) -> None:
    twin = captured(server, "hostile")
    found = statements(twin)
    assert len(table_of(twin, "public.wide").columns) == 1000
    assert table_of(twin, "public.child").fillfactor == 55
    assert table_of(twin, "public.measured_new_0").parent == "public.measured_new"
    assert [key.parent for key in table_of(twin, "public.follows").foreign_keys] == ["public.measured"]
    assert "set default 'below'" in "".join(found.values())
    kinds = {one.name: one.kind for one in twin.objects}
    assert kinds["public.ancestor.rule no_delete"] is ObjectKind.TRIGGER
    assert "public.ancestor.trigger never" not in found
    quoted = next(table for table in twin.tables if table.name.startswith('"Sch'))
    assert [column.name for column in quoted.columns] == ["select", "a b", "%s %(x)s", "naïve ☃", "tab\tin"]
    assert {index.predicate is None for index in quoted.indexes} == {True, False}
    assert column_of(twin, "public.typed", "m").type_kind == "b"
    assert column_of(twin, "public.typed", "m").category == "A"
    assert column_of(twin, "public.snapshots", "row_of").type_kind == "c"


def test_values_of_any_alphabet_are_masked(server: RunningServer) -> None:
    twin = mask_twin(captured(server, "hostile"))
    text = msgspec.json.encode(twin.tables).decode()
    # A letter becomes any of its neighbours, by chance sometimes itself. Two of seven at once are no chance any more.
    assert (text.count("秘密") <= 1, text.count("值") <= 2) == (True, True)
    values = column_of(twin, '"数据"."表"', "列").statistics
    assert values is not None and len(values.common_values) == 7
    assert "键" in text


def test_a_role_without_any_right_gets_the_schema(server: RunningServer) -> None:
    with owner_session(server, "hostile") as client:
        client.execute("create role nobody login")
    try:
        access = in_database(Access(msgspec.structs.replace(server.server, user="nobody")), "hostile")
        twin = capture_twin(access)
        full = captured(server, "hostile")
    finally:
        with owner_session(server, "hostile") as client:
            client.execute("drop role nobody")
    assert statements(twin) == statements(full)
    assert all(column.statistics is None for table in twin.tables for column in table.columns)
    hidden = next(gap for gap in twin.gaps if (gap.what, gap.problem) == ("statistics", "no right to read"))
    assert set(hidden.tables) == {table.name for table in twin.tables}
    values = next(gap for gap in twin.gaps if gap.what == "sequence values")
    assert "public.down" in values.tables


def test_an_object_that_the_lab_cannot_make_is_named_with_what_needs_it(server: RunningServer) -> None:
    """The extension is taken away behind the capture's back: what needs it says so by ``needs``."""
    database(
        server,
        "extended",
        "create schema ext; create extension pageinspect schema ext",
        "create view pages as select ext.get_raw_page('pg_class', 0) as page",
        "create function page_of(t text) returns bytea language sql as 'select ext.get_raw_page(t, 0)'",
    )
    twin = captured(server, "extended")
    by_name = {one.name: one for one in twin.objects}
    assert by_name["extension pageinspect"].statement == "create extension if not exists pageinspect schema ext"
    assert set(by_name["public.pages"].needs) >= {"extension pageinspect"}
    assert not any(name.startswith("ext.get_raw_page") for name in by_name)
    again = replayed(server, twin, "extended_again")
    assert statements(again) == statements(twin)


def test_objects_that_no_twin_has_are_named_in_it(server: RunningServer) -> None:
    database(
        server,
        "others",
        "create extension pageinspect; create extension citext",
        "create function watched() returns event_trigger language plpgsql as 'begin end'",
        "create event trigger on_drop on sql_drop execute function watched()",
        "create event trigger resting on sql_drop execute function watched()",
        "alter event trigger resting disable",
        "create function near(int, int) returns boolean language sql as 'select abs($1 - $2) < 2'",
        "create operator public.<~> (function = near, leftarg = int, rightarg = int)",
        "create function yes(int) returns circle language sql as 'select null::circle'",
        "create cast (int as circle) with function yes(int)",
        'create text search configuration public."Our words" (copy = simple)',
        "create text search dictionary public.ours (template = simple)",
        "create foreign data wrapper elsewhere; create server far foreign data wrapper elsewhere",
        "create publication all_of_it",
        "create access method heap_too type table handler heap_tableam_handler",
    )
    twin = captured(server, "others")
    named = {gap.what: gap.problem for gap in twin.gaps if gap.problem.startswith("not captured: ")}
    assert named == {
        "event triggers": "not captured: on_drop",
        "operators": "not captured: public.<~>(integer, integer)",
        "casts": "not captured: integer as circle",
        "text search configurations": 'not captured: public."Our words"',
        "text search dictionaries": "not captured: public.ours",
        "foreign servers": "not captured: far",
        "publications": "not captured: all_of_it",
        "access methods": "not captured: heap_too",
    }


def test_a_standby_has_the_same_schema_and_statistics(home: Path) -> None:
    settings = {"autovacuum": "off", "max_wal_senders": "5"}
    with start_server(binaries_for("18"), settings=settings) as running:
        with owner_session(running) as client:
            client.execute(SQL.read_text(encoding="utf-8"))
            client.execute("analyze")
        with standby_of(running.server, binaries_for("18")) as standby:
            twin = capture_twin(standby)
        full = captured(running, "postgres")
    assert statements(twin) == statements(full)
    assert [table.columns for table in twin.tables] == [table.columns for table in full.tables]
    assert {gap.what for gap in twin.gaps} == {"pg_stat_statements"}
    assert twin.sequences == full.sequences
