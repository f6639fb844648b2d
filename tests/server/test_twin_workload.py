"""The workload of a twin, on real servers: what is captured of a load is run again, and the server counts the same."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fixtures.drawn import drawn_majors
from fixtures.lab_home import MAJORS, binaries_for
from fixtures.shop import DATABASE, shop_scripts, shop_server
from fixtures.shop import SETTINGS as SHOP_SETTINGS
from fixtures.tables_of import twin_of
from pgclinic.capture.twin import capture_twin
from pgclinic.capture.workload import CapturedWorkload, capture_workload
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import Stopper, run_load
from pgclinic.load.pgbench_tables import fill_statements
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.fidelity import FigureName
from pgclinic.model.load import Convention, Isolation, LoadResult, LoadSpec, Pace, Script, TpccSpec
from pgclinic.model.twin import TwinStatement, TwinWorkload
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, Session
from pgclinic.sql.fingerprint import fingerprint
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.twin.fidelity import fidelity
from pgclinic.twin.mix import TwinMix, twin_mix

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "fsync": "off",
    "shared_buffers": "128MB",
    "max_connections": "40",
}


@contextmanager
def server(major: str) -> Iterator[Access]:
    with start_server(binaries_for(major), settings=SETTINGS) as running:
        access = Access(running.server, running.secrets)
        with session(access) as client:
            client.execute("create extension pg_stat_statements")
        yield access


def session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True)


@contextmanager
def loaded(access: Access, spec: LoadSpec) -> Iterator[Callable[[], LoadResult]]:
    """A load that runs beside the test until its result is asked for."""
    stopper, results = Stopper(), []
    thread = threading.Thread(target=lambda: results.append(run_load(spec, stopper=stopper)))
    thread.start()

    def result() -> LoadResult:
        stopper.stop()
        thread.join()
        return results[0]

    try:
        yield result
    finally:
        result() if not results else None


def captured(access: Access, spec: LoadSpec, observe_s: float) -> CapturedWorkload:
    with loaded(access, spec), session(access) as client:
        # Until every client is connected and at work.
        threading.Event().wait(1.0)
        return capture_workload(client, access.major, observe_s=observe_s)


def rerun(access: Access, mix: TwinMix, *, clients: int, seconds: float) -> tuple[LoadResult, CapturedWorkload]:
    spec = LoadSpec(target=target_of(access), scripts=mix.scripts, clients=clients, measure_s=seconds + 2)
    with loaded(access, spec) as result, session(access) as client:
        seen = capture_workload(client, access.major, observe_s=seconds)
        return result(), seen


def by_text(workload: TwinWorkload) -> dict[str, TwinStatement]:
    return {
        fingerprint(statement.text): statement
        for statement in workload.statements
        if StatementKind(statement.kind).has_plan
    }


def within(one: float, other: float, factor: float) -> bool:
    return abs(math.log((one + 0.5) / (other + 0.5))) <= math.log(factor)


PGBENCH = """\\set aid random(1, 100000)
\\set bid random(1, 1)
\\set tid random(1, 10)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""
LOOK_UP = "\\set aid random(1, 100000)\nSELECT abalance, filler FROM pgbench_accounts WHERE aid = :aid;\n"


@pytest.mark.parametrize("major", ["18", *drawn_majors("twin workload", MAJORS[1:])])
def test_pgbench_is_captured_and_runs_again(major: str) -> None:
    with server(major) as access:
        with session(access) as client:
            for statement in fill_statements(1).splitlines():
                client.execute(statement)
            client.execute("vacuum analyze")
        scripts = (Script(name="tpcb", text=PGBENCH, weight=2), Script(name="look-up", text=LOOK_UP, weight=1))
        spec = LoadSpec(target=target_of(access), scripts=scripts, clients=4, measure_s=30)
        for _ in range(3):
            original = captured(access, spec, 3.0)
            assert not original.gaps
            workload = original.workload
            assert len(by_text(workload)) == 6
            with session(access) as client:
                mix = twin_mix(client, twin_of(client, workload), deck_size=200)
            # Where a machine is so busy that sessions count late, commits and statements are of different seconds.
            if mix.grouping.commit_error is not None and mix.grouping.commit_error < 0.4:
                break
        assert not mix.omissions
        shapes = sorted(len(transaction.steps) for transaction in mix.grouping.transactions)
        assert shapes == [1, 5]
        # Sessions report their commits once a second, and the counters were read for six.
        assert mix.grouping.commit_error is not None and mix.grouping.commit_error < 0.4
        result, again = rerun(access, mix, clients=4, seconds=2.0)
        assert result.failed == 0, result.failures
        counted = by_text(again.workload)
        for key, one in by_text(workload).items():
            assert within(counted[key].rows_per_call, one.rows_per_call, 1.5)
        # Two of three transactions have five statements: the commits of the other statements say so.
        assert per_statement(again.workload) == pytest.approx(per_statement(workload), rel=0.1)


def per_statement(workload: TwinWorkload) -> float:
    """COMMITs per statement."""
    commits = sum(statement.calls for statement in workload.statements if statement.kind == "commit")
    return commits / sum(one.calls for one in by_text(workload).values())


def test_statements_over_a_range_of_numbers_get_as_many_rows() -> None:
    """The server cannot choose a generate_series for two constants of no type."""
    with server("18") as access:
        with session(access) as client:
            client.execute("create table points (x integer, place text)")
        scripts = (
            Script(name="fill", text="insert into points select n, 'here' from generate_series(1, 25) as n;\n"),
            Script(name="list", text="select n * 2 from generate_series(1, 40) as n;\n"),
        )
        workload = captured(access, LoadSpec(target=target_of(access), scripts=scripts, clients=2, measure_s=30), 2.0)
        with session(access) as client:
            mix = twin_mix(client, twin_of(client, workload.workload), deck_size=100)
        assert not mix.omissions
        result, again = rerun(access, mix, clients=2, seconds=1.0)
        assert result.failed == 0, result.failures
        rows = sorted(one.rows_per_call for one in by_text(again.workload).values())
        assert rows == [pytest.approx(25, rel=0.1), pytest.approx(40, rel=0.1)]


def test_values_of_documents_are_cast_to_what_they_are() -> None:
    """One key of each document has a number, the other two have none."""
    with server("18") as access:
        with session(access) as client:
            client.execute("create table result (id bigint primary key, patient bigint not null, value jsonb not null)")
            client.execute(
                "insert into result select n, n % 500, jsonb_build_object('unit', 'mg', 'by', 'lab', 'v', n % 300)"
                " from generate_series(1, 5000) n"
            )
            client.execute("create index on result (patient)")
            client.execute("vacuum analyze")
        text = "\\set p random(0, 499)\nselect avg((value->>'v')::numeric) from result where patient = :p;\n"
        scripts = (Script(name="mean", text=text),)
        workload = captured(access, LoadSpec(target=target_of(access), scripts=scripts, clients=2, measure_s=30), 2.0)
        with session(access) as client:
            mix = twin_mix(client, twin_of(client, workload.workload), deck_size=100)
        assert not mix.omissions
        result, _ = rerun(access, mix, clients=2, seconds=1.0)
        assert (result.failed, result.transactions > 0) == (0, True), result.failures


@pytest.mark.parametrize(("index", "pages"), [(False, 400), (True, 400), (False, 0)])
def test_a_list_by_offset_passes_over_about_as_many_rows(index: bool, pages: int) -> None:
    """Its blocks show how many where an index gives the order, its temporary files where all rows are sorted."""
    with server("18") as access:
        with session(access) as client:
            client.execute("create table visit (id bigint primary key, at bigint not null, note text not null)")
            client.execute(
                "insert into visit select n, n * 7919 % 20011, repeat('x', 60) from generate_series(1, 20000) n"
            )
            if index:
                client.execute("create index on visit (at)")
            client.execute("vacuum analyze")
            client.execute("alter system set work_mem to '64kB'")
            client.execute("select pg_reload_conf()")
        page = f"\\set page random({pages * 9 // 10}, {pages})\n"
        text = f"{page}select * from visit order by at limit 20 offset :page * 20;\n"
        scripts = (Script(name="list", text=text),)
        workload = captured(access, LoadSpec(target=target_of(access), scripts=scripts, clients=2, measure_s=30), 2.0)
        with session(access) as client:
            mix = twin_mix(client, twin_of(client, workload.workload), deck_size=100)
        (statement,) = mix.statements
        counted = statement.statement.counted
        assert (counted.temp_blocks > 0) is (not index and pages > 0)
        offset = statement.tried.choice.offset
        assert pages * 20 / 3 <= offset <= pages * 20 * 3 + 20 * (pages == 0), (offset, counted)


HOSPITAL = """
create table patient (id bigint primary key, born date not null, points numeric not null check (points >= 0));
create table result (id bigint primary key, patient bigint not null references patient, document jsonb not null);
create table stay (patient bigint primary key references patient, word text not null);
create function age_on(born date, day date) returns integer language sql immutable
  as 'select extract(year from age(day, born))::integer';
create function points_of(who bigint) returns numeric language plpgsql stable
  as $$ begin return (select points from patient where id = who); end $$;
insert into patient select n, date '1950-01-01' + n, n % 90 from generate_series(1, 20000) as n;
insert into result
select n, 1 + n % 20000, jsonb_build_object('number', 'n' || n, 'unit', 'mg', 'state', 'new')
  from generate_series(1, 40000) as n;
create index on result ((document ->> 'number'));
"""
CARE = {
    "points": "select points_of(:p);",
    "age": "select age_on(born, date '2024-05-01') as age from patient where id = :p;",
    "spend": "update patient set points = greatest(points - 3, 0) where id = :p;",
    "done": """update result set document = jsonb_set(document, '{state}', '"done"') where id = :p;""",
    "find": "select id, patient from result where document ->> 'number' = 'n' || :p;",
    "stay": "insert into stay (patient, word) select p.id, 'in' from patient as p where p.id = :p"
    " on conflict do nothing;",
}


def test_functions_documents_and_rows_of_other_rows_run_again() -> None:
    with server("18") as access:
        with session(access) as client:
            client.execute(HOSPITAL)
            client.execute("vacuum analyze")
        scripts = tuple(Script(name=name, text=f"\\set p random(1, 20000)\n{text}\n") for name, text in CARE.items())
        # Slowly: no patient comes twice but for very few.
        spec = LoadSpec(target=target_of(access), scripts=scripts, clients=2, measure_s=60, pace=Pace(rate_tps=150.0))
        with loaded(access, spec) as result:
            threading.Event().wait(1.0)
            twin = capture_twin(access, observe_s=3.0)
            result()
        assert twin.workload is not None
        with session(access) as client:
            mix = twin_mix(client, twin)
        assert not mix.omissions
        load, again = rerun(access, mix, clients=2, seconds=2.0)
        assert load.failed == 0, load.failures
        assert len(by_text(twin.workload)) == len(CARE)
        figures = {figure.name: figure for figure in fidelity(twin, twin, mix, again.workload, load).figures}
        assert figures[FigureName.ROWS].share == 1.0, figures[FigureName.ROWS].outside
        assert figures[FigureName.BLOCKS].is_reached, figures[FigureName.BLOCKS].outside
        # The index of an expression is used.
        assert not [text for text in figures[FigureName.BLOCKS].outside if "->>" in text]


@pytest.mark.drawn(0.2)
def test_tpcc_runs_again_with_its_transactions() -> None:
    with server("18") as access:
        fill_tpcc(access, 1, seed=3)
        tpcc = TpccSpec(warehouses=1, convention=Convention.SPEC, isolation=Isolation.READ_COMMITTED)
        spec = LoadSpec(target=target_of(access), clients=4, measure_s=60, tpcc=tpcc)
        for _ in range(3):
            workload = captured(access, spec, 6.0).workload
            with session(access) as client:
                twin = twin_of(client, workload)
                mix = twin_mix(client, twin)
            # Where a machine is so busy that sessions count late, commits and statements are of different seconds.
            if mix.grouping.commit_error is not None and mix.grouping.commit_error < 0.1:
                break
        assert mix.calls_share > 0.95, mix.omissions
        assert mix.grouping.commit_error is not None and mix.grouping.commit_error < 0.1
        result, again = rerun(access, mix, clients=4, seconds=4.0)
        assert result.failed <= 0.01 * result.transactions, result.failures
        found = fidelity(twin, twin, mix, again.workload, result)
        figures = {figure.name: figure for figure in found.figures}
        assert figures[FigureName.ROWS].share >= 0.9, figures[FigureName.ROWS].outside
        assert figures[FigureName.BLOCKS].share >= 0.7, figures[FigureName.BLOCKS].outside
        # NewOrder, Payment, OrderStatus, Delivery and StockLevel; the two that only read may have been taken for one.
        assert found.transactions >= 4


@pytest.mark.drawn(0.2)
def test_the_shop_runs_again_on_its_own_rows() -> None:
    """Every kind of statement: look-ups, ranges, documents, arrays, searches, inserts, transactions."""
    with shop_server("18", SHOP_SETTINGS | {"fsync": "off"}) as running:
        access = in_database(Access(running.server, running.secrets), DATABASE)
        spec = LoadSpec(target=target_of(access), scripts=shop_scripts(), clients=4, measure_s=60)
        with loaded(access, spec) as result:
            threading.Event().wait(1.0)
            twin = capture_twin(access, observe_s=6.0)
            result()
        with session(access) as client:
            mix = twin_mix(client, twin)
        assert mix.calls_share >= 0.95, mix.omissions
        load, again = rerun(access, mix, clients=4, seconds=4.0)
        found = fidelity(twin, twin, mix, again.workload, load)
        figures = {figure.name: figure for figure in found.figures}
        assert figures[FigureName.ERRORS].is_reached, load.failures
        # Two statements depend on what the first load has left: there are no open tickets any more.
        assert figures[FigureName.ROWS].share >= 0.8, figures[FigureName.ROWS].outside
        assert figures[FigureName.BLOCKS].share >= 0.7, figures[FigureName.BLOCKS].outside
        assert found.transactions >= 2
        assert figures[FigureName.COLUMNS].share == 1.0


def test_a_role_without_rights_names_what_it_does_not_see() -> None:
    with server("18") as access:
        with session(access) as client:
            client.execute("create role watcher login")
            client.execute("create table item (id int primary key)")
            client.execute("select count(*) from item")
            client.execute("set role watcher")
            found = capture_workload(client, access.major, sample_s=0.2)
        assert not by_text(found.workload)
        assert [gap.grant for gap in found.gaps if gap.what == "pg_stat_statements"] == [
            "grant pg_read_all_stats to watcher"
        ]


def test_a_database_without_the_extension_is_named() -> None:
    with server("18") as access:
        with session(access) as client:
            client.execute("drop extension pg_stat_statements")
            found = capture_workload(client, access.major, sample_s=0.2)
        assert [gap.grant for gap in found.gaps] == ["create extension pg_stat_statements"]
