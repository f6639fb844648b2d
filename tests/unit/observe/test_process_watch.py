"""Read calls over a measured time, from looks that were not taken at its ends."""

from __future__ import annotations

import os
import time

import pytest

from pgclinic.model.processes import KindRow, ProcessKind, ProcessSample, ProcessUse
from pgclinic.observe.process_watch import ProcessWatch, client_memory_bytes, read_calls_between


def look(at_s: float, client: int, ended: int = 0, *, known: bool = True) -> ProcessSample:
    def row(kind: ProcessKind, calls: int) -> KindRow:
        use = ProcessUse(read_calls=calls)
        return KindRow(kind=kind, alive=1, seen=1, use=use, rss_anon_bytes=0, io_known=known)

    return ProcessSample(at_s=at_s, kinds=(row(ProcessKind.CLIENT, client), row(ProcessKind.ENDED, ended)))


def test_all_kinds_count_and_the_ends_lie_on_straight_lines() -> None:
    looks = [look(-1.0, 100), look(1.0, 200, 50), look(9.0, 1000, 50), look(11.0, 1200, 50)]
    assert read_calls_between(looks, 0.0, 10.0) == pytest.approx(1150 - 175)


@pytest.mark.parametrize(
    "looks",
    [[], [look(-1.0, 1)], [look(0.5, 1), look(11.0, 9)], [look(-1.0, 1), look(9.0, 5)]],
    ids=["none", "one", "too late", "too early"],
)
def test_looks_that_do_not_enclose_the_time_tell_nothing(looks: list[ProcessSample]) -> None:
    assert read_calls_between(looks, 0.0, 10.0) is None


def test_what_may_not_be_seen_is_not_taken_for_nothing() -> None:
    looks = [look(-1.0, 0), look(11.0, 0, known=False)]
    assert read_calls_between(looks, 0.0, 10.0) is None


def test_a_server_elsewhere_has_no_processes() -> None:
    watch = ProcessWatch(None)
    watch.start()
    assert watch.stop() == ()


def test_a_process_of_this_machine_is_looked_at_until_the_end() -> None:
    watch = ProcessWatch(os.getpid())
    watch.start()
    time.sleep(0.2)
    taken = watch.stop()
    assert len(taken) >= 2
    assert taken[-1].at_s > taken[0].at_s


def clients(at_s: float, alive: int, rss_anon_bytes: int) -> ProcessSample:
    row = KindRow(
        kind=ProcessKind.CLIENT, alive=alive, seen=alive, use=ProcessUse(), rss_anon_bytes=rss_anon_bytes, io_known=True
    )
    return ProcessSample(at_s=at_s, kinds=(row,))


def test_memory_of_a_backend_is_taken_when_the_most_of_them_are_there() -> None:
    looks = [clients(0.0, 2, 10_000), clients(1.0, 40, 80_000), clients(2.0, 40, 120_000), clients(3.0, 1, 9_000)]
    assert client_memory_bytes(looks) == 3_000
    assert client_memory_bytes([clients(0.0, 0, 0)]) is None
    assert client_memory_bytes([]) is None
