"""log_line_prefix read back, and times made moments."""

from __future__ import annotations

from datetime import datetime

import pytest

from pgclinic.model.log import LogOrigin, LogSettings
from pgclinic.pg.log.moments import moment_us
from pgclinic.pg.log.stderr import StderrLog


def read(prefix: str, line: str, zone: str | None = "UTC") -> LogOrigin | None:
    entry = StderrLog(LogSettings(log_line_prefix=prefix, log_timezone=zone)).entry(line.encode())
    return None if entry is None else entry.origin


def epoch_us(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp() * 1_000_000)


def test_the_default_prefix() -> None:
    origin = read("%m [%p] ", "2026-11-21 10:39:15.363 UTC [20788] LOG:  database system is ready\n")
    assert origin == LogOrigin(at_us=epoch_us("2026-11-21T10:39:15.363+00:00"), pid=20788)


def test_every_escape_at_once() -> None:
    prefix = "%n|%a|%u|%d|%r|%h|%L|%b|%p|%P|%t|%m|%i|%e|%c|%l|%s|%v|%x|%Q|%% "
    line = (
        "1795257641.041|my app|me|shop|10.1.2.3(5432)|10.1.2.3|10.9.9.9|client backend|77|70|2026-11-21 10:40:41 UTC|"
        "2026-11-21 10:40:41.041 UTC|SELECT|22012|6b01.4d|9|2026-11-21 10:40:00 UTC|5/7|801|-12|% ERROR:  no\n"
    )
    entry = StderrLog(LogSettings(log_line_prefix=prefix)).entry(line.encode())
    assert entry is not None
    assert (entry.severity, entry.sqlstate, entry.message) == ("ERROR", "22012", "no")
    assert entry.origin == LogOrigin(
        at_us=1795257641_041_000,
        pid=77,
        backend_type="client backend",
        application_name="my app",
        user="me",
        database="shop",
        session_id="6b01.4d",
        line_number=9,
        query_id=-12,
    )


@pytest.mark.parametrize(
    ("prefix", "line", "user", "pid"),
    [
        ("%-10u|%6p|", "me        |    77|LOG:  x\n", "me", 77),
        ("%10u|%-6p|", "        me|77    |LOG:  x\n", "me", 77),
        ("%10u|%-6p|", "          |77    |LOG:  x\n", None, 77),
        ("%p %q%u@%d ", "77 LOG:  x\n", None, 77),
        ("%p %q%u@%d ", "77 me@shop LOG:  x\n", "me", 77),
        ("%p (%u) %q%q%d ", "77 (a user) shop LOG:  x\n", "a user", 77),
        ("%p %z %u ", "77 %z me LOG:  x\n", "me", 77),
        ("%p %p %u ", "77 77 [unknown] LOG:  x\n", None, 77),
        ("", "LOG:  x\n", None, None),
        ("(%u) [*.+ ", "(me) [*.+ LOG:  x\n", "me", None),
        ("%u ", "me ОШИБКА:  деление на ноль\n", "me", None),
        ("%u ", "me ATTENTION :  x\n", "me", None),
    ],
)
def test_padding_and_sessionless_processes(prefix: str, line: str, user: str | None, pid: int | None) -> None:
    origin = read(prefix, line)
    assert origin is not None
    assert (origin.user, origin.pid) == (user, pid)


def test_another_prefix_is_not_read() -> None:
    assert read("%m [%p] ", "77 LOG:  x\n") is None


def test_an_endless_line_that_fits_no_prefix_is_given_up_soon() -> None:
    line = "2026-11-21 10:39:15.363 UTC " + "a " * 500_000
    assert read("%m %a %u %d %b %i: ", line) is None


@pytest.mark.parametrize(
    ("text", "zone", "iso"),
    [
        ("2026-11-21 10:39:15 UTC", None, "2026-11-21T10:39:15+00:00"),
        ("2026-11-21 10:39:15.5 +0545", None, "2026-11-21T10:39:15.500+05:45"),
        ("2026-11-21 10:39:15 -03", None, "2026-11-21T10:39:15-03:00"),
        ("2026-07-21 10:39:15 CEST", "Europe/Berlin", "2026-07-21T10:39:15+02:00"),
        ("2026-07-21 10:39:15 CEST", None, "2026-07-21T10:39:15+02:00"),
        # Twice 2:30 in the night of the change.
        ("2026-10-25 02:30:00 CEST", "Europe/Berlin", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25 02:30:00 CET", "Europe/Berlin", "2026-10-25T02:30:00+01:00"),
        # IST is Ireland here and India there.
        ("2026-07-21 10:39:15 IST", "Europe/Dublin", "2026-07-21T10:39:15+01:00"),
        ("2026-07-21 10:39:15 IST", "Asia/Kolkata", "2026-07-21T10:39:15+05:30"),
    ],
)
def test_moments(text: str, zone: str | None, iso: str) -> None:
    assert moment_us(text, zone) == epoch_us(iso)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-07-21 10:39:15 IST", None),
        ("2026-07-21 10:39:15 XYZ", "Europe/Berlin"),
        ("2026-13-45 99:99:99 UTC", None),
        ("0000-00-00 00:00:00 UTC", None),
        ("2026-07-21 10:39:15 XYZ", "../../nowhere"),
        ("yesterday", None),
    ],
)
def test_a_time_that_cannot_be_placed_is_none(text: str, zone: str | None) -> None:
    assert moment_us(text, zone) is None
