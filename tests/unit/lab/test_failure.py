"""A server that does not start is quoted, and the setting to blame is found."""

from __future__ import annotations

import pytest

from pgclinic.lab.failure import blamed_setting, killed_by, last_words, ran_out_of_room, start_error

KNOWN = ("max_connections", "shared_buffers", "wal_level", "port", "max_wal_senders")
STAMP = "2026-01-01 00:00:00.000 UTC [1] "


def test_the_last_fatal_line_counts_with_its_hint() -> None:
    lines = [
        STAMP + "LOG:  starting",
        STAMP + "FATAL:  first",
        STAMP + "FATAL:  could not map anonymous shared memory: Cannot allocate memory",
        STAMP + "HINT:  reduce shared_buffers",
        STAMP + "LOG:  database system is shut down",
    ]
    line, text = last_words(lines)
    assert line == lines[2]
    assert "reduce shared_buffers" in text
    assert "shut down" not in text


def test_a_broken_configuration_is_told_before_the_fatal_line() -> None:
    lines = [
        STAMP + 'LOG:  syntax error in file "postgresql.conf" line 7, near token "300"',
        STAMP + 'FATAL:  configuration file "postgresql.conf" contains errors',
    ]
    assert last_words(lines)[0] == lines[0]


def test_without_a_fatal_line_the_last_complaint_counts() -> None:
    assert last_words(["LOG:  fine", "postgres: cannot execute", "LOG:  bye"])[0] == "postgres: cannot execute"
    assert last_words([]) == (None, "")


@pytest.mark.parametrize(
    ("text", "settings", "blamed"),
    [
        ('WAL streaming ("max_wal_senders" > 0) requires wal_level', {"max_wal_senders": "5"}, "max_wal_senders"),
        (
            'could not access file "foo": No such file',
            {"work_mem": "1MB", "shared_preload_libraries": "foo"},
            "shared_preload_libraries",
        ),
        ("FATAL: out of memory\nHINT: or huge pages", {"huge_pages": "on"}, "huge_pages"),
        ("FATAL: shared_buffers is too large", {}, "shared_buffers"),
        ("FATAL: out of memory\nHINT: lower shared_buffers", {}, None),
        ("FATAL: no idea", {"work_mem": "1MB"}, None),
    ],
)
def test_the_setting_to_blame(text: str, settings: dict[str, str], blamed: str | None) -> None:
    assert blamed_setting(text, settings, KNOWN) == blamed


def test_the_error_carries_line_and_setting() -> None:
    error = start_error(
        "18.6", [STAMP + "FATAL:  shared_buffers is bad"], {"shared_buffers": "9TB"}, KNOWN, "refused to start"
    )
    assert error.message == "PostgreSQL 18.6 refused to start: shared_buffers is bad"
    assert error.setting == "shared_buffers"
    assert error.hint == "the setting to blame: shared_buffers = '9TB'"


def test_a_full_disk_is_recognised() -> None:
    assert ran_out_of_room(["PANIC:  could not write to file: No space left on device"])
    assert not ran_out_of_room(["PANIC:  could not write to file: Input/output error"])


def test_what_clients_were_told_is_not_why_a_server_is_gone() -> None:
    lines = [
        STAMP + "PANIC:  could not write to file: No space left on device",
        STAMP + "FATAL:  the database system is in recovery mode",
        STAMP + "LOG:  shutting down",
    ]
    assert last_words(lines)[0] == lines[0]


def test_a_server_whose_process_was_killed_did_not_refuse() -> None:
    lines = [
        STAMP + "LOG:  startup process (PID 7) was terminated by signal 9: Killed",
        STAMP + "LOG:  aborting startup due to startup process failure",
    ]
    error = start_error("18.6", lines, {"port": "1"}, KNOWN, "refused to start")
    assert error.message == "PostgreSQL 18.6 did not start: startup process (PID 7) was terminated by signal 9: Killed"
    assert error.setting is None
    error = start_error("18.6", [STAMP + "LOG:  starting"], {}, KNOWN, killed_by(9))
    assert error.message == "PostgreSQL 18.6 was killed by SIGKILL while it started; the last line of its log: starting"
    assert "dmesg" in (error.hint or "")
