"""How soon the server's statistics have heard of everything that a load did."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fixtures.lab_home import temporary_home
from fixtures.sampling import session, started
from pgclinic.lab.instance import RunningServer
from pgclinic.observe.statistics_lag import LONGEST_S, await_statistics
from pgclinic.pg.session import Access

NAME = "the-load"
COMMITS = "select xact_commit from pg_stat_database where datname = current_database()"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture(scope="module", params=("18", "15", "14", "13", "9.6"))
def every_server(request: pytest.FixtureRequest, home: Path) -> Iterator[RunningServer]:
    with started(request.param) as running:
        yield running


def waited_s(running: RunningServer) -> float:
    began_s = time.monotonic()
    await_statistics(Access(running.server), NAME)
    return time.monotonic() - began_s


def commits(running: RunningServer) -> int:
    with session(running, "asker") as client:
        return int(client.row(COMMITS)[0])


def test_what_ended_sessions_did_is_told_without_waiting_for_the_longest(every_server: RunningServer) -> None:
    time.sleep(1.5)  # what went before has been told by then
    before = commits(every_server)
    with ExitStack() as stack:
        for client in [stack.enter_context(session(every_server, NAME)) for _ in range(5)]:
            for _ in range(40):
                client.execute("update busy set n = n + 1 where id = 7")
    took_s = waited_s(every_server)
    assert commits(every_server) - before >= 200
    assert took_s < LONGEST_S


def test_sessions_that_stay_are_waited_for_no_longer(home: Path) -> None:
    with started("18") as running, session(running, NAME):
        assert LONGEST_S <= waited_s(running) < LONGEST_S + 1.5
    assert LONGEST_S <= waited_s(running) < LONGEST_S + 1.5, "a server that is gone is given its time, too"
