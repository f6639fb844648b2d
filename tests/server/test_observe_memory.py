"""Memory contexts of real backends, by the view and by the log in every format it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for, cli
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.model.memory import MemorySource, changes
from pgclinic.observe.memory import MemoryReader, own_memory
from pgclinic.pg.connect import Connection, connect
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.samples.memory_dump import MORE_NAME

pytestmark = pytest.mark.usefixtures("fresh_home")

COLLECTED = {"logging_collector": "on"}
PLACES = [
    ("14", {}),
    ("14", {**COLLECTED, "log_destination": "csvlog"}),
    ("17", {**COLLECTED, "log_line_prefix": "%q%u@%d/%p: "}),
    ("17", {**COLLECTED, "log_destination": "stderr,jsonlog"}),
    ("18", {"log_line_prefix": "%t %-10p "}),
    ("18", {**COLLECTED, "log_destination": "jsonlog,csvlog"}),
]


@contextmanager
def server(major: str, settings: dict[str, str]) -> Iterator[tuple[RunningServer, Connection]]:
    """A server with a session whose memory is looked at."""
    with (
        start_server(binaries_for(major), settings=settings) as running,
        connect(running.server, users_search_path=True) as patient,
    ):
        yield running, patient


def touch_tables(patient: Connection, tables: int) -> None:
    for what in ("create table t%s (id int primary key)", "select from t%s where id = 1"):
        patient.execute(f"do $$ begin for i in 1..{tables} loop execute format('{what}', i); end loop; end $$")


@pytest.mark.parametrize(("major", "settings"), PLACES)
def test_the_log_gives_the_tree_of_another_backend(major: str, settings: dict[str, str]) -> None:
    with server(major, settings) as (running, patient), MemoryReader(Access(running.server)) as reader:
        touch_tables(patient, 20)
        patient.execute("begin")
        patient.execute("declare the_cursor cursor for select * from pg_class")
        pid = patient.info.backend_pid
        seen = reader.of(pid)
        with Session.over(patient) as itself:
            own = own_memory(itself, running.server.major)
        assert (seen.pid, seen.source) == (pid, MemorySource.LOG)
        assert seen.root.name == own.name == "TopMemoryContext"
        portals = {context.ident for context in seen.root.walk() if context.name == "PortalContext"}
        assert portals == {"the_cursor"}
        # The view needs some memory for itself.
        assert 0.5 < own.sum().total_bytes / seen.root.sum().total_bytes < 2
        assert seen.process is not None and seen.process.rss_anon_bytes > 500_000
        assert seen.title is not None and "idle in transaction" in seen.title


@pytest.mark.parametrize("major", ["14", "17", "18"])
def test_the_view_gives_the_tree_of_ones_own_backend(major: str) -> None:
    with server(major, {}) as (running, patient), Session.over(patient) as session:
        root = own_memory(session, running.server.major)
        (total,) = session.row("select sum(total_bytes) from pg_backend_memory_contexts")
        children = {context.name for context in root.children}
        assert {"CacheMemoryContext", "MessageContext", "ErrorContext"} <= children
        assert root.sum().total_bytes == pytest.approx(int(total), rel=0.1)
        for context in root.walk():
            assert context.used_bytes + context.free_bytes == context.total_bytes
        assert ({context.kind for context in root.walk()} == {None}) == (running.server.major < 18)


@pytest.mark.parametrize("major", ["14", "18"])
def test_every_table_that_a_session_touches_stays_in_its_memory(major: str) -> None:
    with server(major, {"max_locks_per_transaction": "2000"}) as (running, patient):
        with MemoryReader(Access(running.server)) as reader:
            touch_tables(patient, 1)
            before = reader.of(patient.info.backend_pid)
            for number in range(500):
                patient.execute(f"create table u{number} (id int primary key)")
                patient.execute(f"select from u{number} where id = 1")
            after = reader.of(patient.info.backend_pid)
        found = {change.name: change for change in changes(before.root, after.root)}
        assert found["CacheMemoryContext"].grown_bytes >= 500 * 1024
        assert found[MORE_NAME].after_contexts >= 400, "the index of each table has a context of its own"
        assert before.process is not None and after.process is not None
        assert after.process.rss_anon_bytes - before.process.rss_anon_bytes > 500 * 1024


@pytest.mark.parametrize("major", ["16", "18"])
def test_contexts_of_every_allocator_are_read(major: str) -> None:
    """A sort and a materialised result keep their rows in contexts that tell their figures in another way."""
    with server(major, {}) as (running, patient), MemoryReader(Access(running.server)) as reader:
        patient.execute("begin")
        for name, rows in (
            ("c", "select g::text from generate_series(1, 3000) g order by 1 desc"),
            ("d", "table pg_class"),
        ):
            patient.execute(f"declare {name} cursor for {rows}")
            patient.execute(f"fetch 1 from {name}")
        seen = reader.of(patient.info.backend_pid)
        assert seen.unread_bytes == 0
        assert {"Caller tuples", "tuplestore tuples"} & {context.name for context in seen.root.walk()}


def test_two_looks_at_a_resting_session_are_the_same() -> None:
    with server("18", {}) as (running, patient), MemoryReader(Access(running.server)) as reader:
        touch_tables(patient, 5)
        one, other = reader.of(patient.info.backend_pid), reader.of(patient.info.backend_pid)
        assert changes(one.root, other.root) == ()
        assert other.at_s > one.at_s


def test_an_attached_server_is_read_through_its_standard_error() -> None:
    with server("17", {}) as (running, patient):
        attached = attach(dsn_of(running.server))
        assert attached.server.log_path is None
        with MemoryReader(attached) as reader:
            seen = reader.of(patient.info.backend_pid)
        assert seen.root.sum().total_bytes > 500_000
        assert seen.process is not None, "it runs on this machine"


def test_a_process_of_somebody_else_is_refused() -> None:
    with (
        server("17", {}) as (running, _),
        MemoryReader(Access(running.server)) as reader,
        pytest.raises(UsageError, match="process 1 cannot tell its memory"),
    ):
        reader.of(1)


def test_a_server_before_14_is_refused() -> None:
    with server("13", {}) as (running, _), pytest.raises(UsageError, match="need PostgreSQL 14"):
        MemoryReader(Access(running.server))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"log_destination": "syslog"}, "logs to syslog"),
        (COLLECTED, "may not read the server's log"),
        ({"log_min_messages": "panic"}, "did not write its memory to the log within 0.3 s"),
    ],
)
def test_a_log_that_cannot_be_read_is_a_clear_error(settings: dict[str, str], reason: str) -> None:
    with server("17", settings) as (running, patient):
        patient.execute("create role watcher login")
        patient.execute("grant execute on function pg_log_backend_memory_contexts(int) to watcher")
        attached = attach(dsn_of(running.server).replace("user=postgres", "user=watcher"))
        assert attached.server.user == "watcher"
        with MemoryReader(attached) as reader, pytest.raises(RunFailedError, match=reason):
            reader.of(patient.info.backend_pid, limit_s=0.3)


@pytest.mark.drawn(0.2)
def test_the_command_shows_a_process_once_and_over_time(tmp_path: Path) -> None:
    with server("18", {}) as (running, patient):
        pid = str(patient.info.backend_pid)
        once = cli("lab", "memory", pid, "--server", running.server.name)
        assert once.returncode == 0, once.stderr
        assert once.stdout.startswith(f"process {pid}   postgres: postgres postgres [local] idle   PostgreSQL 18")
        assert "CacheMemoryContext" in once.stdout and "RssAnon" in once.stdout

        page = tmp_path / "memory.html"
        several = cli("lab", "memory", pid, "--times", "2", "--every", "0.2s", "--html", str(page))
        assert several.returncode == 0, several.stderr
        assert "no context changed in size" in several.stdout
        assert f"Memory of process {pid}" in page.read_text()

        document = cli("lab", "memory", pid, dsn_of(running.server), "--json")
        assert document.returncode == 0, document.stderr
        shown = json.loads(document.stdout)
        assert shown["snapshots"][0]["snapshot"]["root"]["name"] == "TopMemoryContext"
        assert shown["snapshots"][0]["total"]["total_bytes"] > 500_000
        assert shown["changes"] == []

        both = cli("lab", "memory", pid, dsn_of(running.server), "--server", running.server.name)
        assert (both.returncode, both.stdout) == (1, "")
        assert cli("lab", "memory", "1").returncode == 1
