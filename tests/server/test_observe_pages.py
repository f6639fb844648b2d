"""Pages of real tables: chains that a held horizon lets grow, marks that scans leave, and what may not be seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.lab_home import binaries_for, temporary_home
from pgclinic.errors import UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.observe.pages import EXTENSIONS, page_facts
from pgclinic.pg.connect import Connection, connect
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access

# No autovacuum: it would clean up what is looked at.
SETTINGS = {"autovacuum": "off", "statement_timeout": "60s"}
PROBE = "select n from counters where id = 5"

#: What the probe would take without a limit.
SLEEP_S = 30


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with temporary_home(), start_server(binaries_for("18"), settings=SETTINGS) as made:
        yield made


def counters(patient: Connection) -> None:
    patient.execute("drop table if exists counters")
    patient.execute("create table counters (id int primary key, n bigint)")
    patient.execute("insert into counters select g, 0 from generate_series(1, 100) g")
    patient.execute("vacuum counters")


@pytest.mark.usefixtures("fresh_home")
def test_under_a_held_horizon_dead_roots_and_the_pages_of_a_probe_grow(every_binaries: Binaries) -> None:
    with (
        start_server(every_binaries, settings=SETTINGS) as server,
        connect(server.server, users_search_path=True) as patient,
        connect(server.server, users_search_path=True) as holder,
    ):
        access = Access(server.server)
        counters(patient)
        fresh = page_facts(access, "counters", "counters_pkey", probe=PROBE, may_create=True)
        assert fresh.missing == ()
        assert fresh.heap is not None and fresh.leaves is not None and fresh.visibility is not None
        assert (fresh.heap.chains, fresh.heap.hot_chains, fresh.heap.dead_roots) == (100, 0, 0)
        assert (fresh.leaves.entries, fresh.leaves.keys, fresh.leaves.dead_entries) == (100, 100, 0)
        assert (fresh.table_pages, fresh.visibility.all_visible_pages, fresh.probe_pages) == (1, 1, 1)

        holder.execute("begin")
        holder.execute("select pg_current_xact_id()")
        for _ in range(60):
            patient.execute("update counters set n = n + 1 where id <= 50")
        patient.execute(PROBE)
        held = page_facts(access, "counters", "counters_pkey", probe=PROBE)
        assert held.heap is not None and held.leaves is not None and held.space is not None
        assert held.heap.hot_chains > 50
        assert held.heap.dead_roots + held.heap.unsure_roots > 500, "one a row and page, and an entry leads to each"
        assert held.heap.normal == 100 + 60 * 50
        assert held.leaves.entries_per_key is not None and held.leaves.entries_per_key > 5
        assert held.probe_pages is not None and held.probe_pages > 10
        assert held.space.dead_tuples == pytest.approx(60 * 50, rel=0.1)
        assert held.visibility is not None and held.visibility.all_visible_pages == 0

        holder.execute("rollback")
        patient.execute("select * from counters")
        patient.execute("set enable_seqscan = off")
        patient.execute("set enable_bitmapscan = off")
        for number in range(1, 51):
            patient.execute(f"select n from counters where id = {number}")
        released = page_facts(access, "counters", "counters_pkey", probe=PROBE)
        assert released.heap is not None and released.leaves is not None
        assert released.heap.dead > 500, "pruning leaves line pointers to which the index still leads"
        assert released.heap.dead_roots == 0
        assert released.leaves.dead_entries > 100, "scans mark what leads to dead rows alone"

        patient.execute("vacuum counters")
        clean = page_facts(access, "counters", "counters_pkey", probe=PROBE)
        assert clean.heap is not None and clean.leaves is not None
        assert (clean.heap.dead, clean.leaves.entries, clean.leaves.dead_entries) == (0, 100, 0)
        assert clean.probe_pages is not None and clean.probe_pages <= 3


def test_a_sample_speaks_for_a_large_table(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create table big as select g, g % 1000 as k from generate_series(1, 400000) g")
        patient.execute("create index big_k on big (k)")
        patient.execute("vacuum (analyze, freeze) big")
    facts = page_facts(Access(running.server), "big", "big_k", sample_pages=40, limit_s=20, may_create=True)
    assert facts.heap is not None and facts.leaves is not None and facts.visibility is not None
    assert facts.heap.sampled_pages == 40
    assert facts.heap.chains / 40 * facts.table_pages == pytest.approx(400_000, rel=0.05)
    assert facts.leaves.leaf_pages <= 40
    assert facts.leaves.entries_per_key == pytest.approx(400, rel=0.3)
    assert facts.visibility.all_visible_pages == facts.visibility.all_frozen_pages
    assert facts.visibility.all_frozen_pages == pytest.approx(facts.table_pages, rel=0.05)
    assert facts.space is not None and facts.space.live_tuples == pytest.approx(400_000, rel=0.05)


def test_the_time_limit_holds_and_says_what_is_missing(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        for name in EXTENSIONS:
            patient.execute(f"create extension if not exists {name}")
        patient.execute("create table slow as select g, g % 7 as k from generate_series(1, 400000) g")
        patient.execute("create index slow_k on slow (k)")
    probe = f"select pg_sleep({SLEEP_S})"
    facts = page_facts(Access(running.server), "slow", "slow_k", sample_pages=100_000, limit_s=1.5, probe=probe)
    assert facts.elapsed_s < SLEEP_S, "it did not wait for the probe"
    missing = {part.part: part.reason for part in facts.missing}
    assert "longer than" in missing["probe_pages"]
    assert facts.visibility is not None, "what was had in time is kept"
    assert facts.heap is None or facts.heap.sampled_pages <= facts.table_pages


def test_extensions_are_only_made_where_that_is_allowed(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create database bare")
    attached = attach(dsn_of(running.server).replace("dbname=postgres", "dbname=bare"))
    facts = page_facts(attached, "pg_catalog.pg_class", "pg_class_oid_index")
    assert (facts.heap, facts.leaves, facts.visibility, facts.space) == (None, None, None, None)
    reasons = {part.part: part.reason for part in facts.missing}
    assert reasons["heap"] == "the extension pageinspect is not installed: create extension pageinspect"
    assert set(reasons) == {"heap", "leaves", "visibility", "space"}
    with connect(attached.server, users_search_path=True) as patient:
        assert patient.execute("select count(*) from pg_extension where extname <> 'plpgsql'").fetchone() == (0,)


def test_a_user_who_may_not_look_is_told_why(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create role nobody_special login")
        for name in EXTENSIONS:
            patient.execute(f"create extension if not exists {name}")
    attached = attach(dsn_of(running.server).replace("user=postgres", "user=nobody_special"))
    facts = page_facts(attached, "pg_class")
    reasons = {part.part: part.reason for part in facts.missing}
    assert "must be superuser" in reasons["heap"]
    assert "permission denied" in reasons["visibility"]
    assert facts.table_pages > 0
    assert "index_pages" not in reasons


def test_extensions_may_live_in_a_schema_of_any_name(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create database odd")
    attached = attach(dsn_of(running.server).replace("dbname=postgres", "dbname=odd"))
    with connect(attached.server, users_search_path=True) as patient:
        patient.execute('create schema "Tools, odd"')
        for name in EXTENSIONS:
            patient.execute(f'create extension {name} schema "Tools, odd"')
        patient.execute('create table "Odd ""name" (id int primary key)')
        patient.execute('insert into "Odd ""name" values (1)')
    facts = page_facts(attached, '"Odd ""name"', '"Odd ""name_pkey"')
    assert facts.missing == ()
    assert facts.heap is not None and facts.heap.chains == 1


@pytest.mark.parametrize(
    ("table", "index", "reason"),
    [
        ("no_such_table", None, "no_such_table is not a table"),
        ("pg_class_oid_index", None, "is not a table"),
        ("pg_class", "pg_class", "is not an index"),
        ("pg_class", "pg_proc_oid_index", "is not an index of pg_class"),
        ("hashed", "hashed_h", "is a hash index"),
        ("parts", None, "is not a table"),
    ],
)
def test_names_that_are_no_table_or_index_are_errors(
    running: RunningServer, table: str, index: str | None, reason: str
) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create table if not exists hashed (h int)")
        patient.execute("create index if not exists hashed_h on hashed using hash (h)")
        patient.execute("create table if not exists parts (p int) partition by list (p)")
    with pytest.raises(UsageError, match=reason):
        page_facts(Access(running.server), table, index)


def test_an_empty_table_has_no_pages(running: RunningServer) -> None:
    with connect(running.server, users_search_path=True) as patient:
        patient.execute("create table empty (id int primary key)")
    facts = page_facts(Access(running.server), "empty", "empty_pkey", may_create=True)
    assert facts.missing == ()
    assert facts.heap is not None and facts.leaves is not None
    assert (facts.table_pages, facts.heap.sampled_pages, facts.leaves.leaf_pages) == (0, 0, 0)
