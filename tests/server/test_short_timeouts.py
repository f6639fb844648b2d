"""A role whose own timeouts are a few milliseconds is served: sessions that read a server set their own first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session

#: Milliseconds, and the first major version that has the setting.
TIMEOUTS = {
    "statement_timeout": (1, 13),
    "lock_timeout": (1, 13),
    "idle_in_transaction_session_timeout": (50, 13),
    "idle_session_timeout": (50, 14),
    "transaction_timeout": (50, 17),
}


@pytest.fixture(scope="module", params=("18", *drawn_majors("short timeouts", ("17", "16", "15", "14", "13"))))
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """Timeouts of the role ``hasty``, and of the database ``hurried`` for everybody."""
    settings = {"shared_preload_libraries": "pg_stat_statements", "fsync": "off"}
    timeouts = [f"{name} = '{value}ms'" for name, (value, since) in TIMEOUTS.items() if since <= int(request.param)]
    with start_server(binaries_for(request.param), settings=settings) as running:
        with as_owner(running) as client:
            client.execute("create extension pg_stat_statements; create table orders (id int primary key)")
            client.execute("insert into orders select generate_series(1, 5000)")
            client.execute("create role hasty login; grant pg_monitor to hasty")
            client.execute("create database hurried")
            for timeout in timeouts:
                client.execute(f"alter role hasty set {timeout}; alter database hurried set {timeout}")
        yield running


def as_owner(running: RunningServer) -> Session:
    return Session(
        Access(running.server), statement_timeout_ms=60_000, application_name="owner", users_search_path=True
    )


def dsn(running: RunningServer, user: str, database: str) -> str:
    server = running.server
    return f"host={server.host} port={server.port} user={user} dbname={database}"


@pytest.mark.parametrize(("user", "database"), [("hasty", "postgres"), ("postgres", "hurried")])
@pytest.mark.parametrize(
    "line", ["checkup DSN --observe 2s --no-run", "capture snapshot DSN", "capture twin DSN", "lab leftovers DSN"]
)
def test_a_server_is_read_whatever_the_timeouts_of_its_roles(
    server: RunningServer, command: Command, line: str, user: str, database: str
) -> None:
    done = command.run(*(dsn(server, user, database) if word == "DSN" else word for word in line.split()))
    assert done.returncode == 0, done.stderr
    assert "timeout" not in done.stderr


def test_a_load_keeps_the_timeouts_of_its_role_and_says_what_they_ended(
    server: RunningServer, command: Command
) -> None:
    (command.folder / "slow.sql").write_text("select pg_sleep(0.2);\n", encoding="utf-8")
    where = dsn(server, "hasty", "postgres")
    done = command.run("bench", "-n", "-f", "slow.sql", "-T", "2", "--observe", "-d", where)
    assert done.returncode == 2
    assert "canceling statement due to statement timeout" in done.stderr
    assert "counters could not be read" not in done.stdout
