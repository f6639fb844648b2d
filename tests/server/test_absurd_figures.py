"""A server whose catalogs and counters say what cannot be: captured, examined, rebuilt without that."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.captured import column_of, table_of
from fixtures.command import Command
from fixtures.lab_home import binaries_for
from fixtures.owner_session import owner_session
from pgclinic.capture.impossible_figures import IMPOSSIBLE, without_impossible
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.capture.twin import capture_twin
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.twin import Twin
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access
from pgclinic.store.checkup_folder import read_checkup, read_snapshot_of
from pgclinic.twin.file import read_twin

SQL = Path(__file__).parents[1] / "fixtures" / "absurd_figures.sql"


@pytest.fixture(scope="module", params=("18", "14"))
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    settings = {"shared_preload_libraries": "pg_stat_statements", "autovacuum": "off"}
    with start_server(binaries_for(request.param), settings=settings) as running:
        with owner_session(running) as session:
            session.execute(SQL.read_text(encoding="utf-8"))
            for number in range(20):
                session.execute(f"select note as n{number} from orders where order_id = {number}")
                session.execute(f"select count(*) as n{number} from lines where amount = {number}")
        yield running


def problems_of(twin: Twin) -> dict[str, str]:
    return {gap.what: gap.problem for gap in twin.gaps if "impossible" in gap.problem}


def test_a_capture_leaves_out_what_cannot_be_and_names_it(server: RunningServer, command: Command) -> None:
    ran = command.run("capture", "twin", dsn_of(server.server), "-o", "absurd.twin")
    assert ran.returncode == 0, ran.stderr
    assert "8 left out as impossible: customer n_distinct NaN, price n_distinct 1e+38" in " ".join(ran.stdout.split())
    twin = read_twin(command.folder / "absurd.twin")
    assert problems_of(twin).keys() >= {"statistics", "row counts", "sizes", "sizes of indexes", "statements"}
    kept = {(table.name, column.name) for table in twin.tables for column in table.columns if column.statistics}
    assert kept == {
        *(("public.orders", name) for name in ("order_id", "place")),
        *((f"public.{name}", column) for name in ("endless", "undefined", "negative") for column in ("id", "a")),
    }
    order_id = column_of(twin, "public.orders", "order_id").statistics
    assert order_id is not None
    assert order_id.distinct == -1.0
    assert (table_of(twin, "public.orders").rows, table_of(twin, "public.lines").rows) == (3000, 6000)
    for name in ("endless", "undefined", "negative"):
        table = table_of(twin, f"public.{name}")
        assert table.rows is None
        assert 0 < table.pages_now < 10
        assert 0 <= table.pages < 10
        assert 0 <= table.all_visible < 10
        assert table.dead_rows == 0
    assert all(statement.calls > 0 and statement.total_ms >= 0 for statement in twin.workload.statements)


def test_its_twin_is_started_and_examined(server: RunningServer, command: Command) -> None:
    assert command.run("capture", "twin", dsn_of(server.server), "-o", "absurd.twin").returncode == 0
    name = f"absurd{os.getpid()}"
    try:
        ran = command.run("lab", "start", "--twin", "absurd.twin", "--name", name, "--json", timeout=300)
        assert ran.returncode == 0, ran.stderr
        ran = command.run("lab", "psql", name, "--", "-qAtc", "select count(*) from orders")
        assert ran.stdout.strip() == "3000", ran.stderr
    finally:
        command.run("lab", "stop", name)


def test_a_checkup_looks_for_everything_and_names_what_it_took_as_unknown(
    server: RunningServer, command: Command
) -> None:
    ran = command.run("checkup", dsn_of(server.server), "--observe", "1s", "--json")
    assert ran.returncode == 0, ran.stderr
    json.loads(ran.stdout, parse_constant=pytest.fail)
    checkup = read_checkup(command.only_run())
    (gap,) = [gap for gap in checkup.gaps if gap.what == "impossible figures"]
    assert "NaN" in gap.problem
    errors = [one for one in checkup.unchecked if "Error" in one.reason or "tables" in one.reason]
    assert errors == []
    snapshot = read_snapshot_of(command.only_run())
    assert snapshot is not None
    rows = {table.name: table.rows for table in snapshot.tables if table.schema == "public"}
    assert rows == {"orders": 3000, "lines": 6000, "endless": None, "undefined": None, "negative": None}
    assert all(row.dead >= 0 for row in snapshot.counters.tables)
    assert {column.column for column in snapshot.columns if column.table == "orders"} == {"order_id", "place"}


ORDINARY = """
create extension pg_stat_statements;
create table filled (id int primary key, k int);
create index on filled (k);
insert into filled select n, n from generate_series(1, 1000) as n;
create table parts (id int primary key, v int) partition by range (id);
create table part_1 partition of parts for values from (1) to (100);
create unlogged table empty (a int unique);
create sequence numbers;
create materialized view seen as select 1 as x
"""


def test_nothing_of_an_ordinary_server_is_impossible(every_binaries: Binaries) -> None:
    """Before and after its first ANALYZE: -1 means unknown in some catalogs, and differs from version to version."""
    settings = {"shared_preload_libraries": "pg_stat_statements", "autovacuum": "off"}
    with start_server(every_binaries, settings=settings) as running:
        access = Access(running.server)
        with owner_session(running) as session:
            for statements in (ORDINARY, "analyze"):
                session.execute(statements)
                twin = capture_twin(access)
                assert problems_of(twin) == {}
                assert without_impossible(twin) == twin
                assert IMPOSSIBLE not in {gap.what for gap in take_snapshot(access).gaps}
