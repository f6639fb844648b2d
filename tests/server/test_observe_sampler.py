"""What the sampler sees of real servers of every branch is what they say themselves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.command import wait_for
from fixtures.drawn import drawn_majors
from fixtures.lab_home import temporary_home
from fixtures.sampling import in_background, last_row, sampled, session, started
from pgclinic.lab.instance import RunningServer
from pgclinic.model.sample import Row, Samples
from pgclinic.model.study import Counter
from pgclinic.observe.views import DEFAULT_VIEWS, views_at
from pgclinic.pg.session import Access, Session
from pgclinic.samples.deltas import Rate, per_second, top_statements
from pgclinic.samples.mechanism import mechanism_counters

MAJORS = ("18", *drawn_majors("sampler", ("17", "16", "15", "14", "13"), 2), "9.6")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture(scope="module", params=MAJORS)
def every_server(request: pytest.FixtureRequest, home: Path) -> Iterator[RunningServer]:
    with started(request.param) as running:
        yield running


@pytest.fixture
def server(home: Path) -> Iterator[RunningServer]:
    with started("18") as running:
        yield running


def settled(running: RunningServer) -> None:
    """Wait until the server shows what ended sessions did: backends tell when they leave, a collector later."""
    time.sleep(0.2 if running.server.major >= 15 else 1.2)


def rows_seen(samples: Samples, view: str) -> list[Row]:
    return [row for sample in samples.of(view) for row in sample.rows]


def grown_table(samples: Samples, name: str) -> dict[str, int]:
    """What was done to one table between its first and its last sample, without what was not."""
    first, *_, last = [row for row in rows_seen(samples, "tables") if row["table"] == name]
    done = ("inserted", "updated", "deleted", "vacuums", "analyzes", "autovacuums", "autoanalyzes")
    steps = {counter: int(last[counter] or 0) - int(first[counter] or 0) for counter in done}
    return {counter: step for counter, step in steps.items() if step}


def test_counters_are_those_of_the_server(every_server: RunningServer) -> None:
    def work() -> None:
        with session(every_server) as client:
            for _ in range(50):
                client.execute("update busy set n = n + 1 where id = 7")
            client.execute("checkpoint")
            client.execute("vacuum analyze busy")
        settled(every_server)

    samples = sampled(every_server, work)
    settled(every_server)
    with session(every_server) as client:
        commits, hits = client.row(
            "select xact_commit, blks_hit from pg_stat_database where datname = current_database()"
        )
        updated, hot, vacuums, analyzes = client.row(
            "select n_tup_upd, n_tup_hot_upd, vacuum_count, analyze_count"
            "  from pg_stat_user_tables where relname = 'busy'"
        )
    database, relations = last_row(samples, "database"), last_row(samples, "relations")
    first = samples.of("database")[0].rows[0]
    assert isinstance(database["commits"], int) and isinstance(first["commits"], int)
    # Between the last sample and the direct look the sampler and the looking session committed a little more.
    assert first["commits"] + 50 <= database["commits"] <= commits <= database["commits"] + 20
    assert isinstance(database["hits"], int) and database["hits"] <= hits
    assert relations == {**relations, "updated": updated, "updated_hot": hot, "vacuums": vacuums, "analyzes": analyzes}
    assert grown_table(samples, "busy") == {"updated": 50, "vacuums": 1, "analyzes": 1}
    assert sum(point.value for point in per_second(samples, Rate.CHECKPOINTS)) > 0
    assert samples.gaps == 0
    assert samples.cost_s > 0 and samples.server_cost_s is not None


def test_the_log_grows_as_the_server_says(every_server: RunningServer) -> None:
    position = "pg_current_xlog_insert_location()" if every_server.server.major < 10 else "pg_current_wal_insert_lsn()"
    difference = "pg_xlog_location_diff" if every_server.server.major < 10 else "pg_wal_lsn_diff"
    ask = f"select {difference}({position}, '0/0')::int8"
    with session(every_server) as client:
        (before,) = client.row(ask)
        samples = sampled(every_server, lambda: client.execute("update busy set n = n + 1"))
        (after,) = client.row(ask)
    first, last = samples.of("wal")[0].rows[0]["position"], samples.of("wal")[-1].rows[0]["position"]
    assert isinstance(first, int) and isinstance(last, int)
    assert before <= first < last <= after
    assert last - first > 50_000


def test_statements_are_counted_by_id_and_named(every_server: RunningServer) -> None:
    def work() -> None:
        with session(every_server) as client:
            for number in range(30):
                client.execute(f"select n as mine from busy where id = {number}")

    samples = sampled(every_server, work)
    (mine,) = [
        statement for statement in top_statements(samples, limit=50) if statement.text and "mine" in statement.text
    ]
    assert mine.calls == 30
    assert mine.rows == 29  # there is no id 0
    assert not any("pg_stat_progress" in (statement.text or "") for statement in top_statements(samples, limit=50))


def test_what_a_server_does_not_have_is_said_and_the_rest_is_there(every_server: RunningServer) -> None:
    samples = sampled(every_server)
    major = every_server.server.major
    missing = {"io": 16, "slru": 13}
    assert samples.failed.keys() == {name for name, since in missing.items() if major < since}
    assert all(f"needs PostgreSQL {missing[name]}" in reason for name, reason in samples.failed.items())
    assert {one.view for one in samples.taken} == {view.name for view in DEFAULT_VIEWS} - samples.failed.keys()
    wal = last_row(samples, "wal")
    assert ("full_page_images" in wal) == (major >= 14)


def test_activity_shows_waits_and_leaves_the_observers_out(every_server: RunningServer) -> None:
    with in_background(every_server, "select pg_sleep(20)", "sleeper"), session(every_server, "pgclinic-probe"):
        samples = sampled(every_server, lambda: time.sleep(0.5))
    last = samples.of("activity")[-1].rows
    clients = [row for row in last if row["backend_type"] == "client backend"]
    assert sum(row["backends"] for row in clients if isinstance(row["backends"], int)) == 1
    (sleeping,) = clients
    assert sleeping["state"] == "active"
    if every_server.server.major >= 10:
        assert (sleeping["wait_event_type"], sleeping["wait_event"]) == ("Timeout", "PgSleep")
    assert isinstance(sleeping["query_s"], float) and sleeping["query_s"] > 0.2
    # pg_stat_statements has the server compute ids from 14 on.
    assert (sleeping["query_id"] is not None) == (every_server.server.major >= 14)


def test_waiting_for_a_lock_names_the_table(every_server: RunningServer) -> None:
    with session(every_server) as owner:
        owner.execute("begin; lock table busy")
        with in_background(every_server, "select count(*) from busy", "queued"):
            samples = sampled(every_server, lambda: time.sleep(0.6))
        owner.execute("rollback")
    waiting = [row for row in samples.of("locks")[-1].rows if row["granted"] == 0]
    assert [(row["mode"], row["relation"], row["locks"]) for row in waiting] == [("AccessShareLock", "public.busy", 1)]
    assert isinstance(waiting[0]["waited_s"], float) == (every_server.server.major >= 14)


def test_all_kinds_of_horizon_holders_are_seen(every_server: RunningServer) -> None:
    slot = "select pg_create_logical_replication_slot('kept', 'test_decoding')"
    with session(every_server, "a report") as holder, session(every_server) as client:
        client.rows(slot)
        holder.execute("begin isolation level repeatable read; select 1 from busy limit 1")
        client.execute("begin; delete from busy where id = 900; prepare transaction 'forgotten'")
        for _ in range(20):
            client.execute("update busy set n = n + 1 where id = 3")
        samples = sampled(every_server)
        client.execute("rollback prepared 'forgotten'")
        client.rows("select pg_drop_replication_slot('kept')")
        holder.execute("rollback")
        backend = holder.backend_pid
    seen = {(row["holder"], row["name"]): row for row in rows_seen(samples, "horizon")}
    assert seen.keys() == {("session", "a report"), ("prepared", "forgotten"), ("slot", "kept")}
    assert seen["session", "a report"]["pid"] == backend
    ages = [row["age_xids"] for row in seen.values()]
    assert all(isinstance(age, int) and age >= 20 for age in ages), ages


def test_a_long_vacuum_shows_its_progress(every_server: RunningServer) -> None:
    with session(every_server) as client:
        client.execute("create table large as select i from generate_series(1, 200000) i; delete from large")
        slow = "set vacuum_cost_delay = 50; set vacuum_cost_limit = 1; vacuum large"
        # VACUUM cannot be sent together with anything else.
        with Session(
            Access(every_server.server), statement_timeout_ms=30_000, application_name="vacuum", users_search_path=True
        ) as vacuum:
            for statement in slow.split(";")[:2]:
                vacuum.execute(statement)
            thread = threading.Thread(target=lambda: _ignored(lambda: vacuum.execute("vacuum large")))
            thread.start()
            wait_for(lambda: client.rows("select 1 from pg_stat_progress_vacuum where heap_blks_total > 0"))
            samples = sampled(every_server)
            client.rows(f"select pg_terminate_backend({vacuum.backend_pid})")
            thread.join(10)
        client.execute("drop table large")
    row = rows_seen(samples, "progress")[0]
    assert row["command"] == "vacuum"
    assert isinstance(row["total"], int) and row["total"] > 100


def _ignored(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:  # noqa: BLE001
        return


def test_only_what_changed_is_kept_between_the_first_and_the_last_sample(server: RunningServer) -> None:
    with session(server) as client:
        client.execute("".join(f"create table quiet_{n} (i int); insert into quiet_{n} values (1);" for n in range(30)))
    # What the server counts late would be a change between the samples.
    counted = "select count(*) from pg_stat_user_tables where relname like 'quiet%' and n_tup_ins = 1"
    with session(server) as client:
        wait_for(lambda: client.row(counted) == (30,))

    seen: list[str] = []

    def work() -> None:
        with session(server) as client:
            for _ in range(4):
                client.execute("insert into quiet_7 values (2)")
                client.row("select pg_stat_force_next_flush()")
                # The next one may have been on its way.
                enough = seen.count("tables") + 2
                while seen.count("tables") < enough:
                    time.sleep(0.05)

    views = views_at({"tables": 0.0})
    samples = sampled(server, work, views=views, on_sample=lambda sample: seen.append(sample.view))
    first, *between, last = samples.of("tables")
    assert len(first.rows) == len(last.rows) == 31
    assert {row["table"] for sample in between for row in sample.rows} == {"quiet_7"}
    assert grown_table(samples, "quiet_7") == {"inserted": 4}


def test_mechanism_counters_of_a_known_load(every_server: RunningServer) -> None:
    """Forty transactions, each two index scans; two checkpoints; one sequential scan in five."""
    with session(every_server) as client:
        client.execute("vacuum busy")
    began: list[float] = []

    def work() -> None:
        time.sleep(0.3)
        began.append(time.time())
        with session(every_server) as client:
            for number in range(1, 41):
                client.execute(f"update busy set n = n + 1 where id = {number}; select n from busy where id = {number}")
            for _ in range(20):
                client.row("select count(*) from busy")
            client.execute("checkpoint")
            client.execute("checkpoint")
        settled(every_server)
        began.append(time.time())
        settled(every_server)

    samples = sampled(every_server, work).since(began[0])
    measured_s = began[1] - began[0]
    found = mechanism_counters(samples, measured_s=measured_s, transactions=40, read_calls=80)
    assert found[Counter.SEQUENTIAL_SCAN_SHARE] == pytest.approx(20 / (20 + 80))
    assert found[Counter.READ_CALLS_PER_TRANSACTION] == 2
    assert 0.9 < found[Counter.HIT_RATIO] <= 1
    assert found[Counter.VACUUMS_PER_S] == 0
    enclosed = [one.at_s for one in samples.of("checkpoints")]
    window_s = min(at for at in enclosed if at >= measured_s) - max(at for at in enclosed if at <= 0)
    assert found[Counter.CHECKPOINT_INTERVAL_S] == pytest.approx(window_s / 2)
    assert found[Counter.WAL_BYTES_PER_TRANSACTION] > 50
    assert found[Counter.BUFFER_HITS_PER_TRANSACTION] > 4
