"""Whatever the server does, the sampler goes on, says what is missing, and ends in time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.command import wait_for
from fixtures.lab_home import binaries_for, temporary_home
from fixtures.sampling import SETTINGS, last_row, sampled, session, started
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.sample import Sample
from pgclinic.observe.sampler import Sampler
from pgclinic.observe.views import DEFAULT_VIEWS, View
from pgclinic.pg.connect import connect
from pgclinic.pg.session import Access
from pgclinic.samples.deltas import Rate, per_second


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture
def server(home: Path) -> Iterator[RunningServer]:
    with started("18") as running:
        yield running


def test_a_view_that_fails_is_asked_once_and_remembered(server: RunningServer) -> None:
    broken = View("broken", lambda _: "select 1 / 0 as one")
    unknown = View("unknown", lambda _: "select * from nowhere")
    samples = sampled(server, lambda: time.sleep(1), views=(broken, *DEFAULT_VIEWS[:2], unknown))
    assert samples.failed == {"broken": "division by zero", "unknown": 'relation "nowhere" does not exist'}
    assert len(samples.of("database")) >= 4
    assert len(samples.of("database")) == len(samples.of("checkpoints"))
    assert samples.gaps == 0
    log = server.log_path.read_text()
    assert (log.count("division by zero"), log.count('"nowhere" does not exist')) == (1, 1)


def test_a_view_that_takes_too_long_leaves_gaps_and_the_rest_goes_on(server: RunningServer) -> None:
    sleeping = View("sleeping", lambda _: "select 1 as one from pg_sleep(60)")
    sampler = Sampler(Access(server.server), views=(*DEFAULT_VIEWS[:2], sleeping, DEFAULT_VIEWS[2]), interval_s=0.2)
    sampler.start()
    time.sleep(4)
    began = time.monotonic()
    samples = sampler.stop()
    assert time.monotonic() - began < 3
    assert "statement timeout" in samples.failed["sleeping"]
    assert samples.of("sleeping") == ()
    assert samples.gaps > 0
    # Left alone for longer and longer, it does not cost every interval.
    assert len(samples.of("database")) >= 5
    assert len(samples.of("wal")) >= 2


def test_a_view_that_grows_with_the_catalog_is_asked_less_often_where_it_takes_long(server: RunningServer) -> None:
    def slow(name: str, *, grows: bool) -> View:
        return View(name, lambda _: "select 1 as one from pg_sleep(0.03)", grows=grows)

    views = (slow("catalog", grows=True), slow("other", grows=False))
    samples = sampled(server, lambda: time.sleep(2.5), views=views, interval_s=0.2)
    # 30 ms are half a per cent of 6 s; the first and the last sample are always there.
    assert len(samples.of("catalog")) == 2
    assert len(samples.of("other")) >= 6
    assert samples.gaps == 0


def test_a_lock_leaves_a_gap_and_is_forgotten_when_it_is_gone(server: RunningServer) -> None:
    view = View("locked", lambda _: "select count(*) as n from public.busy")
    sampler = Sampler(Access(server.server), views=(view, *DEFAULT_VIEWS[:1]), interval_s=0.1)
    with session(server) as owner:
        owner.execute("begin; lock table busy")
        sampler.start()
        time.sleep(0.8)
        assert "lock timeout" in sampler.failed["locked"]
        owner.execute("rollback")
        wait_for(lambda: "locked" not in sampler.failed, 10)
    samples = sampler.stop()
    assert samples.failed == {}
    assert samples.gaps > 0
    assert samples.of("locked")[-1].rows == ({"n": 1000},)


def test_a_locked_catalog_does_not_stop_what_does_not_need_it(server: RunningServer) -> None:
    seen: list[Sample] = []
    needs_it = View("needs_it", lambda _: "select count(*) as n from pg_catalog.pg_class")
    views = (*DEFAULT_VIEWS, needs_it)
    sampler = Sampler(Access(server.server), interval_s=0.2, views=views, on_sample=seen.append)
    sampler.start()
    time.sleep(0.5)
    with session(server) as owner:
        owner.execute("begin; lock table pg_catalog.pg_class in access exclusive mode")
        before = len(seen)
        time.sleep(2)
        meanwhile = {one.view for one in seen[before:]}
        owner.execute("rollback")
    samples = sampler.stop()
    assert {"database", "wal", "activity"} <= meanwhile
    assert samples.gaps > 0
    assert samples.failed == {}


@pytest.mark.parametrize("who", ["backend", "postmaster and backend"])
def test_stopping_beside_a_server_that_hangs_takes_no_more_than_three_seconds(server: RunningServer, who: str) -> None:
    seen: list[Sample] = []
    sampler = Sampler(Access(server.server), interval_s=0.2, on_sample=seen.append)
    sampler.start()
    wait_for(lambda: seen)
    with session(server) as client:
        (pid,) = client.row("select pid from pg_stat_activity where application_name = 'pgclinic-observe'")
    stopped = [pid, server.server.pid] if "postmaster" in who else [pid]
    for one in stopped:
        assert one is not None and one > 1
        os.kill(one, signal.SIGSTOP)
    try:
        time.sleep(0.5)
        began = time.monotonic()
        samples = sampler.stop()
        assert time.monotonic() - began < 3
        count = len(seen)
    finally:
        for one in stopped:
            os.kill(one, signal.SIGCONT)
    assert samples.gaps >= 1
    assert samples.of("database")
    time.sleep(0.5)
    assert len(seen) == count, "nobody is told anything after the end"


def test_a_crash_is_survived_and_nothing_becomes_negative(server: RunningServer) -> None:
    seen: list[Sample] = []
    sampler = Sampler(Access(server.server), interval_s=0.2, on_sample=seen.append)
    with session(server) as client:
        for _ in range(50):
            client.execute("update busy set n = n + 1 where id = 1")
        victim = client.backend_pid
        sampler.start()
        time.sleep(0.5)
        assert victim > 1
        os.kill(victim, signal.SIGKILL)
    count = len(seen)
    wait_for(lambda: len(seen) > count + 20, 20)
    samples = sampler.stop()
    assert samples.gaps > 0
    commits = [one.rows[0]["commits"] for one in samples.of("database")]
    assert commits != sorted(commits, key=lambda value: float(value or 0)), "the server began to count anew"
    for rate in Rate:
        assert all(point.value >= 0 for point in per_second(samples, rate))


def test_the_session_is_sane_on_a_sick_server_and_changes_nothing(home: Path) -> None:
    sick = {"random_page_cost": "1e300", "cpu_index_tuple_cost": "1e300", "enable_hashjoin": "off", "jit": "on"}
    names = "random_page_cost cpu_index_tuple_cost enable_hashjoin jit lock_timeout default_transaction_read_only"
    own = View("own", lambda _: "select " + ", ".join(f"current_setting('{name}') as {name}" for name in names.split()))
    with started("18", SETTINGS | sick | {"log_statement": "all"}) as running:
        samples = sampled(running, lambda: time.sleep(0.5), views=(*DEFAULT_VIEWS, own))
        assert "pg_stat_progress" not in running.log_path.read_text()
    assert last_row(samples, "own") == {
        "random_page_cost": "4",
        "cpu_index_tuple_cost": "0.005",
        "enable_hashjoin": "on",
        "jit": "off",
        "lock_timeout": "100ms",
        "default_transaction_read_only": "on",
    }


def test_without_the_extension_statements_are_left_out_with_the_reason(home: Path) -> None:
    with start_server(binaries_for("18"), settings={}) as running:
        samples = sampled(running)
        with connect(running.server, users_search_path=True) as client:
            client.execute("create schema apart; create extension pg_stat_statements schema apart")
        unloaded = sampled(running)
    assert samples.failed.keys() == {"statements", "statement_texts"}
    assert "not created in this database" in samples.failed["statements"]
    assert "shared_preload_libraries" in unloaded.failed["statements"]


def test_an_ordinary_user_gets_what_he_may_see(server: RunningServer) -> None:
    with session(server) as client:
        client.execute("create role guest login")
    guest = Access(replace(server.server, user="guest"))
    sampler = Sampler(guest, interval_s=0.2)
    sampler.start()
    samples = sampler.stop()
    assert samples.failed == {}
    assert len(samples.of("database")) == 2
