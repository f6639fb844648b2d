"""What real servers write with prefixes of all kinds is read back, and so is a verbose and a terse log."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for
from fixtures.server_logs import read_new
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.log import LogEntry, LogPosition, LogSettings
from pgclinic.pg.log.follow import LogReader
from pgclinic.pg.session import Access, QueryError, Session

pytestmark = pytest.mark.usefixtures("fresh_home")
ESCAPES = {"13": "audrhbpmtniecslvx", "14": "audrhbpPmtniecslvxQ", "18": "audrhLbpPmtniecslvxQ"}
LITERALS = (" ", " ", "|", " [", "] ", ",", ": ", " %% ", " user=", "~")


def session(running: RunningServer, name: str = "the app") -> Session:
    return Session(Access(running.server), statement_timeout_ms=30_000, application_name=name, users_search_path=True)


def drawn_prefix(major: str, seed: int) -> str:
    """Some escapes in some order, some padded, between signs that people use; often a %q before the session's part."""
    draw = random.Random(seed)
    escapes = draw.sample(ESCAPES[major], draw.randrange(1, len(ESCAPES[major])))
    parts = [
        f"%{draw.choice(('', '', '', '7', '-7', '30', '-30'))}{escape}{draw.choice(LITERALS)}" for escape in escapes
    ]
    if draw.random() < 0.5:
        parts.insert(draw.randrange(len(parts) + 1), "%q")
    return draw.choice(("", "<", "pg ")) + "".join(parts) + " "


def set_and_reload(one: Session, name: str, value: str) -> None:
    one.execute("alter system set {} = '{}'".format(name, value.replace("'", "''")))
    one.execute("select pg_reload_conf()")


def entry_of(log: Path, settings: LogSettings, position: LogPosition, message: str) -> tuple[LogEntry, LogPosition]:
    """The entry with that message, once it stands there; nothing beside it may be unreadable."""
    reader, deadline, entries = LogReader(log, settings), time.monotonic() + 20, list[LogEntry]()
    while time.monotonic() < deadline:
        reading = read_new(reader, position, everything=True)
        position, entries = reading.position, entries + reading.entries
        if found := [entry for entry in entries if message in entry.message]:
            return found[0], position
        time.sleep(0.05)
    raise AssertionError(f"not read with {settings.log_line_prefix!r}")


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("major", sorted(ESCAPES))
def test_prefixes_of_all_kinds(major: str) -> None:
    with start_server(binaries_for(major), settings={}) as running, session(running) as setting:
        position = LogPosition()
        for seed in range(25):
            prefix = drawn_prefix(major, seed)
            set_and_reload(setting, "log_line_prefix", prefix)
            known = LogSettings(log_line_prefix=prefix, log_timezone="UTC")
            with session(running) as one:
                with pytest.raises(QueryError):
                    one.execute(
                        f"do $$ begin raise exception 'number {seed}' using detail = 'a', errcode = 'PC001'; end $$"
                    )
                entry, position = entry_of(running.log_path, known, position, f"number {seed}")
                origin = entry.origin
                assert (entry.severity, entry.message, entry.detail) == ("ERROR", f"number {seed}", "a")
                assert entry.statement is not None and entry.statement.startswith("do $$")
                assert origin.pid in (one.backend_pid, None)
                assert entry.sqlstate in ("PC001", None)
                assert origin.application_name in ("the app", None)
                assert {origin.user, origin.database} <= {"postgres", None}
                assert origin.backend_type in ("client backend", None)
                assert all(has(prefix, escape) == (value is not None) for escape, value in shown(entry))


def has(prefix: str, escape: str) -> bool:
    return any(part.lstrip("-0123456789").startswith(escape) for part in prefix.replace("%%", "").split("%")[1:])


def shown(entry: LogEntry) -> list[tuple[str, object]]:
    origin = entry.origin
    return [
        ("p", origin.pid),
        ("e", entry.sqlstate),
        ("a", origin.application_name),
        ("u", origin.user),
        ("d", origin.database),
        ("b", origin.backend_type),
        ("c", origin.session_id),
        ("l", origin.line_number),
    ]


@pytest.mark.parametrize("verbosity", ["terse", "default", "verbose"])
def test_every_verbosity(verbosity: str) -> None:
    settings = {"log_error_verbosity": verbosity}
    with start_server(binaries_for("18"), settings=settings) as running, session(running) as one:
        with pytest.raises(QueryError):
            one.execute("select *\nfrom missing")
        entry, _ = entry_of(running.log_path, LogSettings(log_timezone="UTC"), LogPosition(), "missing")
        assert entry.message == 'relation "missing" does not exist'
        assert entry.statement == "select *\nfrom missing"
        assert entry.sqlstate == ("42P01" if verbosity == "verbose" else None)
