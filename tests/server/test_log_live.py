"""The logs of running servers, followed while they are written."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for, cli
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.log import (
    AnyLogEvent,
    CheckpointCompleted,
    ErrorLogged,
    LogSettings,
    MemoryDump,
    ServerPhase,
    SlowStatement,
)
from pgclinic.pg.log.follow import FormatName, LogFollower
from pgclinic.pg.session import Access, QueryError, Session

pytestmark = pytest.mark.usefixtures("fresh_home")
PREFIX = "%m [%p] %q%u@%d/%a %e "
LOGGING = {"log_line_prefix": PREFIX, "log_checkpoints": "on"}
COLLECTED = {**LOGGING, "logging_collector": "on", "log_rotation_size": "64kB", "log_filename": "pg-%H%M%S.log"}


def folder_of(running: RunningServer) -> Path:
    return Path(str(running.server.data_dir)) / "log"


def session(running: RunningServer) -> Session:
    return Session(Access(running.server), statement_timeout_ms=30_000, application_name="live", users_search_path=True)


def until(follower: LogFollower, what: Callable[[AnyLogEvent], bool]) -> list[AnyLogEvent]:
    """All events up to the one that is waited for."""
    found, deadline = list[AnyLogEvent](), time.monotonic() + 20
    while time.monotonic() < deadline:
        found += follower.poll()
        if any(map(what, found)):
            return found
        time.sleep(0.02)
    raise AssertionError(f"it was not logged; seen: {[type(event).__name__ for event in found]}")


def make_things_happen(running: RunningServer, follower: LogFollower) -> None:
    """Events arrive while the server goes on, each of them once."""
    with session(running) as one:
        one.execute("set log_min_duration_statement = 0")
        one.execute("select 'first\nsecond'")
        seen = until(follower, lambda event: isinstance(event, SlowStatement) and "second" in str(event.text))
        (slow,) = [event for event in seen if isinstance(event, SlowStatement) and "second" in str(event.text)]
        assert slow.text == "select 'first\nsecond'"
        assert slow.origin.pid == one.backend_pid
        assert slow.origin.application_name == "live"
        assert slow.origin.at_us is not None and abs(slow.origin.at_us / 1e6 - time.time()) < 30
        one.execute("set log_min_duration_statement = -1")
        with pytest.raises(QueryError):
            one.execute("select 1 / 0")
        seen = until(follower, lambda event: isinstance(event, ErrorLogged))
        (error,) = [event for event in seen if isinstance(event, ErrorLogged)]
        assert (error.sqlstate, error.statement) == ("22012", "select 1 / 0")
        one.execute("checkpoint")
        seen = until(follower, lambda event: isinstance(event, CheckpointCompleted))
        assert not [event for event in seen if isinstance(event, ErrorLogged)]
    assert follower.counts.unparsed == follower.counts.not_understood == 0


@pytest.mark.parametrize("name", ["stderr", "csv", "json"])
def test_the_collector_of_the_newest_version_is_followed(name: FormatName, binaries: Binaries) -> None:
    """Every event that is made is seen, or making it fails."""
    settings = {**COLLECTED, "log_destination": "stderr,csvlog,jsonlog", "log_timezone": "Asia/Tokyo"}
    with start_server(binaries, settings=settings) as running:
        known = LogSettings(log_line_prefix=PREFIX, log_timezone="Asia/Tokyo")
        follower = LogFollower(folder_of(running), known, format_name=name)
        make_things_happen(running, follower)


@pytest.mark.parametrize("major", ["13", "14", "17"])
def test_older_versions_are_followed(major: str) -> None:
    """Every event that is made is seen, or making it fails."""
    with start_server(binaries_for(major), settings={**COLLECTED, "log_destination": "csvlog"}) as running:
        make_things_happen(running, LogFollower(folder_of(running), LogSettings(), format_name="csv"))


def test_the_log_file_of_the_lab_is_followed_to_its_end(every_binaries: Binaries) -> None:
    with start_server(every_binaries, settings=LOGGING) as running:
        follower = LogFollower(running.log_path, LogSettings(log_line_prefix=PREFIX, log_timezone="UTC"))
        make_things_happen(running, follower)
        running.stop_cleanly()
        phases = [event.phase for event in follower.finish() if isinstance(event, ServerPhase)]
        assert phases[-1] == "stopped"


def test_no_event_is_lost_or_doubled_across_rotations(binaries: Binaries) -> None:
    """Every error carries its number; a file is rotated every few of them."""
    settings = {**COLLECTED, "log_destination": "stderr,jsonlog", "log_filename": "pg-%H%M%S.log"}
    with start_server(binaries, settings=settings) as running, session(running) as one:
        follower = LogFollower(folder_of(running), LogSettings(log_line_prefix=PREFIX), format_name="json")
        found: list[str] = []
        for number in range(60):
            with pytest.raises(QueryError):
                one.execute(f"do $$ begin raise exception 'number {number}'; end $$")
            if number % 20 == 10:
                one.execute("select pg_rotate_logfile()")
                time.sleep(1.1)
            found += [event.message for event in follower.poll() if isinstance(event, ErrorLogged)]
        last = until(follower, lambda event: isinstance(event, ErrorLogged)) if len(found) < 60 else []
        found += [event.message for event in last if isinstance(event, ErrorLogged)]
        assert found == [f"number {number}" for number in range(60)]
        assert len(list(folder_of(running).glob("*.json"))) >= 3


def test_the_memory_of_another_backend_is_read_from_the_log(binaries: Binaries) -> None:
    with start_server(binaries, settings=LOGGING) as running, session(running) as one, session(running) as other:
        follower = LogFollower(running.log_path, LogSettings(log_line_prefix=PREFIX))
        one.execute(f"select pg_log_backend_memory_contexts({other.backend_pid})")
        seen = until(follower, lambda event: isinstance(event, MemoryDump))
        (dump,) = [event for event in seen if isinstance(event, MemoryDump)]
        assert dump.dumped_pid == other.backend_pid
        assert dump.complete
        assert sum(line.total_bytes for line in dump.contexts) == dump.total_bytes
        assert sum(line.used_bytes for line in dump.contexts) == dump.used_bytes


@pytest.mark.drawn(0.2)
def test_a_user_reads_the_events_of_a_server(fresh_home: Path) -> None:
    try:
        cli("lab", "start", "--name", "s1", "--set", "logging_collector=on", "--set", "log_destination=csvlog")
        cli("lab", "psql", "s1", "--", "-c", "select 1 / 0")
        told = cli("lab", "events", "s1")
        assert "ERROR 22012 division by zero: select 1 / 0" in told.stdout
        assert re.fullmatch(r"\d+ events in [0-9.]+ kB\n", told.stderr)
        events = [json.loads(line) for line in cli("lab", "events", "--json").stdout.splitlines()]
        assert [event["sqlstate"] for event in events if event["event"] == "ErrorLogged"] == ["22012"]
    finally:
        assert cli("lab", "stop", "--all").returncode == 0
