"""What a resting server may do in the windows of the others before it is a reason to distrust the block."""

from __future__ import annotations

import os
import time

import pytest

from pgclinic.model.doubt import Doubt, RestingServerWorked
from pgclinic.model.resting import RestingUse
from pgclinic.observe.resting_watch import ActiveWindow, RestingWatch
from pgclinic.report.words.doubts import words_of
from pgclinic.trial.bleeding import bled_into_window


def resting(
    cpu_s: float = 0.1,
    io_bytes: int | None = 0,
    others_io_bytes: int | None = 0,
    windows: int = 10,
    cores: int = 2,
) -> RestingUse:
    return RestingUse(
        windows=windows,
        elapsed_s=10.0,
        cores=cores,
        cpu_s=cpu_s,
        others_cpu_s=8.0,
        io_bytes=io_bytes,
        others_io_bytes=others_io_bytes,
    )


def said(doubt: Doubt) -> str:
    assert doubt.facts is not None
    return words_of(doubt.facts, doubt.share or 0.0).text


def test_a_server_that_rests_gives_no_doubt() -> None:
    assert bled_into_window(None) is None
    assert bled_into_window(resting()) is None
    assert bled_into_window(resting(cpu_s=15.0, windows=2)) is None, "two windows show nothing"
    assert bled_into_window(resting(io_bytes=5_000_000, others_io_bytes=0)) is None, "no disk notices so little"
    assert bled_into_window(resting(io_bytes=50_000_000, others_io_bytes=900_000_000)) is None
    assert bled_into_window(resting(io_bytes=None, others_io_bytes=None)) is None


def test_its_cpu_and_its_io_are_told_apart() -> None:
    by_cpu = bled_into_window(resting(cpu_s=1.4))
    assert by_cpu is not None and by_cpu.share == pytest.approx(0.07)
    assert by_cpu.facts == RestingServerWorked(cpu_share=pytest.approx(0.07), io_share=0.0, windows=10)
    assert "used 7 % of the CPU" in said(by_cpu) and "I/O" not in said(by_cpu)
    by_io = bled_into_window(resting(io_bytes=100_000_000, others_io_bytes=300_000_000))
    assert by_io is not None and by_io.share == pytest.approx(0.25)
    assert "25 % of the servers' I/O" in said(by_io)


@pytest.mark.parametrize("cores", [2, 64])
def test_one_busy_worker_is_seen_on_any_number_of_cores(cores: int) -> None:
    assert bled_into_window(resting(cpu_s=9.0, cores=cores)) is not None
    assert bled_into_window(resting(cpu_s=0.9, cores=cores)) is None, "less than a tenth of a core"


def watched() -> tuple[RestingWatch, float]:
    """A watch over three windows of another server that cannot be seen, in which this process works; when it began."""
    begin_s = time.monotonic() + 0.05
    windows = [ActiveWindow("other", begin_s + at, begin_s + at + 0.4) for at in (0.0, 0.4, 0.8)]
    watch = RestingWatch({"own": os.getpid(), "other": None}, windows)
    watch.start()
    while time.monotonic() < begin_s + 1.25:
        sum(range(1000))
    watch.stop()
    return watch, begin_s


def test_the_watch_counts_what_the_others_do_in_a_window() -> None:
    # A window of which the watch missed an end does not count; on a busy machine those may be all three.
    for _ in range(20):
        watch, begin_s = watched()
        found = watch.use("own")
        if found is not None:
            break
    assert found is not None and 1 <= found.windows <= 3
    assert found.cpu_s > 0.0 and found.elapsed_s <= 1.2
    assert found.io_bytes is None, "the other's is not known"
    assert watch.use("other") is None
    assert 0 < watch.cost_s < time.monotonic() - begin_s


def test_a_watch_that_is_stopped_early_ends_at_once() -> None:
    watch = RestingWatch({"own": os.getpid()}, [ActiveWindow("other", time.monotonic() + 60, time.monotonic() + 61)])
    watch.start()
    began_s = time.monotonic()
    watch.stop()
    assert time.monotonic() - began_s < 30.0, "it does not wait for its window, a minute away"
    assert watch.use("own") is None
