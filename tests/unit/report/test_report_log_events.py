"""Events of a log as lines of text."""

from __future__ import annotations

from typing import get_args

import pytest

from fixtures.server_logs import FILES, FOLDER, events_of
from pgclinic.model.log import AnyLogEvent, ErrorLogged, LogCounts, LogOrigin
from pgclinic.report.words.log_events import counts_line, event_line


def lines_of(name: str) -> str:
    return "\n".join(event_line(event) for event in events_of(FOLDER / name))


def test_every_kind_of_event_is_said_in_one_line() -> None:
    events = [event for path in FILES for event in events_of(path)]
    assert {type(event) for event in events} == set(get_args(AnyLogEvent))
    assert not [line for event in events for line in (event_line(event),) if "\n" in line or len(line) > 400]


@pytest.mark.parametrize(
    "words",
    [
        "23186  automatic vacuum of postgres.public.orders: 2000 tuples removed (",
        "0 tuples removed, 2000 dead but not yet removable, cutoff 1 transactions old (",
        "automatic vacuum to prevent wraparound of postgres.public.old_rows: 0 tuples removed (",
        "2026-11-21 10:40:57.397    23009  checkpoint complete (immediate force wait): 173 buffers (1.1 %) in 0.209 s,",
        "checkpoints too frequent: 0 s apart",
        "temporary file of 2.3 MB: select n from generate_series(1, 200000) as n order by n desc",
        "plan of query 8161602704423260862: select n from",
        "0.059 ms bind: select $1::text, $2::int, $3::text",
        "ERROR 22012 division by zero: select 1 / 0",
        "lock still waiting: AccessShareLock on relation 16384 of database 5 after 50.097 ms, held by 23398: lock",
        "deadlock: 23399 waits for 23398, 23398 waits for 23399",
        "memory of process 23402: 1.2 MB, 905.4 kB used, ",
        "client backend 23403 ended by signal 9: select pg_sleep(20)",
        "server: database system was not properly shut down; automatic recovery in progress",
        "connection disconnected after ",
    ],
)
def test_the_figures_stand_in_the_line(words: str) -> None:
    assert words in lines_of("18.json")


def test_a_long_text_with_control_characters_stays_one_plain_line() -> None:
    event = ErrorLogged(
        origin=LogOrigin(), severity="ERROR", sqlstate=None, message="a\n\x1b[31m" + "b" * 500, statement="c\td"
    )
    line = event_line(event)
    assert line.startswith("-                              -  ERROR a [31mbbb")
    assert line.endswith("b…: c d")
    assert line.isprintable()


def test_what_was_not_understood_is_said() -> None:
    assert counts_line(LogCounts(bytes_read=2048, events=3)) == "3 events in 2.0 kB"
    lost = counts_line(LogCounts(bytes_read=10, events=0, not_understood=4, unparsed=5, undated=6))
    assert lost.startswith("0 events in 10 bytes, 4 not understood (is lc_messages English?), 5 not entries")
    assert lost.endswith("6 without a time")
