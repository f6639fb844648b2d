"""Every wait for a server ends: servers that say nothing, go silent, or never stop sending."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from fixtures.hostile import hostile_server
from pgclinic.errors import ServerLostError, UsageError
from pgclinic.model.server import Server
from pgclinic.pg import bounded
from pgclinic.pg.bounded import BoundedConnection, WaitEnded, open_bounded
from pgclinic.pg.libpq import connect_as_libpq
from pgclinic.pg.session import Access, QueryError, Session


def keywords(port: int, **more: object) -> dict[str, object]:
    return {"host": "127.0.0.1", "port": port, "user": "u", "dbname": "d", "password": "p", **more}


def access(port: int, source: str) -> Access:
    return Access(
        Server(
            name="s", source=source, version="17.6", version_num=170006, host="127.0.0.1", port=port, user="u",
            database="d",
        )
    )  # fmt: skip


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "PROBE_S", 2)
    monkeypatch.setattr(BoundedConnection, "silence_s", 0.5)


def test_a_server_that_accepts_and_says_nothing_is_given_up_while_connecting() -> None:
    began = time.monotonic()
    with hostile_server("mute") as port:
        with pytest.raises(UsageError, match="timeout expired"):
            connect_as_libpq(
                {"host": "127.0.0.1", "port": str(port), "dbname": "d", "connect_timeout": "2"},
                application_name="test",
            )
        with pytest.raises(ServerLostError, match="timeout expired"):
            Session(access(port, "lab"), statement_timeout_ms=1000, application_name="test", users_search_path=True)
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("quick")
def test_a_server_that_goes_silent_is_given_up() -> None:
    with hostile_server("silent") as port:
        connection = open_bounded("", keywords(port))
        with pytest.raises(WaitEnded, match="stopped answering"):
            connection.execute("select 1")
        assert connection.closed


@pytest.mark.usefixtures("quick")
def test_a_session_reports_it_as_a_lost_connection() -> None:
    with hostile_server("silent") as port:
        session = Session.over(open_bounded("", keywords(port)))
        with pytest.raises(QueryError, match="stopped answering") as raised:
            session.rows("select 1")
        assert raised.value.sqlstate is None
        session.close()


def test_a_statement_that_outlasts_its_limit_is_given_up() -> None:
    with hostile_server("silent") as port:
        connection = open_bounded("", keywords(port))
        connection.answer_within_s = 0.3
        with pytest.raises(WaitEnded, match=r"did not answer within 0\.3 s"):
            connection.execute("select 1")


def test_a_server_that_is_alive_is_waited_for() -> None:
    asked: list[float] = []
    with hostile_server("silent") as port:
        connection = open_bounded("", keywords(port))
        connection.silence_s = 0.2
        connection.still_answers = lambda: asked.append(time.monotonic()) or len(asked) < 4
        with pytest.raises(WaitEnded):
            connection.execute("select 1")
    assert len(asked) == 4
    assert all(later - earlier >= 0.2 for earlier, later in itertools.pairwise(asked))


def test_endless_rows_are_given_up_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "GROWTH_BYTES_MAX", 64 * 2**20)
    with hostile_server("rows") as port:
        connection = open_bounded("", keywords(port))
        before = bounded.resident_bytes()
        with pytest.raises(psycopg.OperationalError, match="more than 64 MB of memory"):
            connection.execute("select 1")
        assert bounded.resident_bytes() - before < 400 * 2**20


STOPPED = """
import sys, time
from pgclinic.pg.bounded import open_bounded
connection = open_bounded("", {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "u", "dbname": "d"})
connection.answer_within_s = 3.0
connection.still_answers = None
print("waiting", flush=True)
began = time.monotonic()
try:
    connection.execute("select 1")
except Exception as error:
    print(f"{type(error).__name__} {time.monotonic() - began:.1f}", flush=True)
"""


def test_a_pause_of_ours_is_not_taken_for_the_servers() -> None:
    with hostile_server("silent") as port:
        child = subprocess.Popen([sys.executable, "-c", STOPPED, str(port)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "waiting\n"
            time.sleep(0.5)
            os.kill(child.pid, signal.SIGSTOP)
            time.sleep(4)
            os.kill(child.pid, signal.SIGCONT)
            name, elapsed_s = child.stdout.readline().split()
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
    # Of the four seconds one counts; the other two are waited for after the pause.
    assert name == "WaitEnded"
    assert float(elapsed_s) > 5.5
