"""A whole log as a checkup reads it: logs of real servers in every format, and what is counted in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.server_logs import FILES, events_of, only, settings_of
from pgclinic.capture.server_log import read_server_log
from pgclinic.errors import UsageError
from pgclinic.model.log import (
    CheckpointCompleted,
    ConnectionLogged,
    Deadlock,
    LockWait,
    LogSettings,
    SlowStatement,
    TemporaryFile,
    VacuumLogged,
)

PLAIN = LogSettings(log_line_prefix="%m [%p] ")
LINE = "2026-11-21 10:{minute:02}:00.000 UTC [{pid}] {text}\n"


def written(folder: Path, *texts: str, name: str = "server.log") -> Path:
    file = folder / name
    file.write_text("".join(LINE.format(minute=n % 60, pid=100 + n, text=text) for n, text in enumerate(texts)))
    return file


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_events_of_every_format_and_version_are_counted(path: Path) -> None:
    log = read_server_log(path, settings_of(path))
    events = events_of(path)
    assert log.bytes_read == log.bytes_all == path.stat().st_size
    assert log.seconds > 0
    assert log.checkpoints == len(only(events, CheckpointCompleted)) > 0
    files = only(events, TemporaryFile)
    assert log.temporary_files == len(files) > 0
    assert log.temporary_bytes == sum(file.size_bytes for file in files) == sum(spill.bytes for spill in log.spills)
    assert log.deadlocks == len(only(events, Deadlock))
    assert log.lock_waits == sum(one.outcome == "still waiting" for one in only(events, LockWait))
    assert log.slow_statements == len(only(events, SlowStatement))
    assert log.connections == sum(one.step == "received" for one in only(events, ConnectionLogged))
    assert sum(vacuum.runs for vacuum in log.vacuums) == sum(one.automatic for one in only(events, VacuumLogged))


def test_a_crash_counts_once_with_the_recovery_after_it(tmp_path: Path) -> None:
    crash = (
        "LOG:  server process (PID 7) was terminated by signal 9: Killed",
        "LOG:  terminating any other active server processes",
        "LOG:  all server processes terminated; reinitializing",
        "LOG:  database system was not properly shut down; automatic recovery in progress",
    )
    power = ("LOG:  database system was not properly shut down; automatic recovery in progress",)
    asked = ("LOG:  received immediate shutdown request", *power)
    log = read_server_log(written(tmp_path, *crash, *power, *asked), PLAIN)
    assert log.crashes == 2
    assert log.killed_by_signal == {"SIGKILL": 1}


def test_what_a_process_ran_when_it_crashed_has_no_constants(tmp_path: Path) -> None:
    file = written(tmp_path, "LOG:  server process (PID 7) was terminated by signal 11: Segmentation fault")
    with file.open("a") as stream:
        stream.write("2026-11-21 10:00:00.000 UTC [100] DETAIL:  Failed process was running: select 'secret', 42\n")
    log = read_server_log(file, PLAIN)
    assert log.crash_statements == ("select ?, ?",)
    assert log.killed_by_signal == {"SIGSEGV": 1}


def test_refused_connections_and_memory_are_known_by_their_words(tmp_path: Path) -> None:
    log = read_server_log(
        written(
            tmp_path,
            "FATAL:  sorry, too many clients already",
            'FATAL:  too many connections for role "app"',
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "ERROR:  out of memory",
            "ERROR:  out of shared memory",
        ),
        PLAIN,
    )
    assert (log.connections_refused, log.out_of_memory) == (3, 1)


def test_messages_that_differ_in_names_and_figures_are_one(tmp_path: Path) -> None:
    texts = (f'ERROR:  relation "t{number}" has {number} rows' for number in range(5))
    log = read_server_log(written(tmp_path, *texts, "WARNING:  odd"), PLAIN)
    first = log.messages[0]
    assert (first.severity, first.text, first.times) == ("ERROR", 'relation "..." has N rows', 5)


def test_of_a_large_log_the_end_is_read(tmp_path: Path) -> None:
    texts = [f"ERROR:  number {number}" for number in range(1_000)]
    file = written(tmp_path, *texts, "FATAL:  sorry, too many clients already")
    log = read_server_log(file, PLAIN, bytes_max=5_000)
    assert log.bytes_all == file.stat().st_size
    assert 4_900 < log.bytes_read <= 5_000
    assert log.connections_refused == 1
    assert log.not_understood == 0
    assert log.entries < 120


def test_of_a_folder_the_newest_files_are_read(tmp_path: Path) -> None:
    old, new = written(tmp_path, *["ERROR:  old"] * 50, name="a.log"), written(tmp_path, "ERROR:  new", name="b.log")
    os.utime(old, (1_000_000, 1_000_000))
    os.utime(new, (2_000_000, 2_000_000))
    log = read_server_log(tmp_path, PLAIN, bytes_max=new.stat().st_size)
    assert [message.text for message in log.messages] == ["new"]
    assert log.bytes_all == old.stat().st_size + new.stat().st_size


def test_statements_that_are_passed_over_count_for_the_time(tmp_path: Path) -> None:
    log = read_server_log(written(tmp_path, *(f"LOG:  statement: select {n}" for n in range(11))), PLAIN)
    assert log.seconds == 600.0
    assert log.entries == 0


def test_of_a_folder_with_several_formats_one_is_read(tmp_path: Path) -> None:
    for path in FILES:
        if path.stem == "18":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (json,) = (path for path in FILES if path.name == "18.json")
    log, alone = read_server_log(tmp_path, settings_of(json)), read_server_log(json, settings_of(json))
    assert (log.bytes_all, log.messages) == (alone.bytes_all, alone.messages)
    assert log.seconds == alone.seconds > 0


def test_an_empty_log_has_nothing(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.touch()
    log = read_server_log(file, PLAIN)
    assert (log.bytes_read, log.entries, log.seconds, log.messages) == (0, 0, 0.0, ())


@pytest.mark.parametrize("name", ["missing.log", "empty"])
def test_what_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="cannot read the log"):
        read_server_log(tmp_path / name, PLAIN)
