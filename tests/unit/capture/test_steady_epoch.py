"""Durations of what is captured do not follow a wall clock that is set."""

from __future__ import annotations

import time

import pytest

from pgclinic.capture.steady_epoch import SteadyEpoch
from pgclinic.capture.workload import CounterReading, growth


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_moves_no_time(monkeypatch: pytest.MonkeyPatch, by_s: float) -> None:
    now = {"wall": 1_000_000.0, "steady": 50.0}
    monkeypatch.setattr(time, "time", lambda: now["wall"])
    monkeypatch.setattr(time, "monotonic", lambda: now["steady"])
    clock = SteadyEpoch()
    now["wall"] += by_s + 5.0
    now["steady"] += 5.0
    assert (clock.began_epoch_s, clock.elapsed_s(), clock.epoch_s()) == (1_000_000.0, 5.0, 1_000_005.0)


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_counters_grow_over_our_own_seconds(by_s: float) -> None:
    def reading(at_s: float, steady_s: float, commits: int) -> CounterReading:
        return CounterReading(
            at_s=at_s,
            steady_s=steady_s,
            rows={},
            hidden=0,
            commits=commits,
            rollbacks=0,
            database_reset_s=None,
            statements_reset_s=None,
        )

    workload = growth(reading(1_000_000.0, 50.0, 7), reading(1_000_060.0 + by_s, 110.0, 27))
    assert (workload.since_s, workload.commits) == (60.0, 20)
