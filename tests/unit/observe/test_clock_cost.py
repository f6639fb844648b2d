"""What reading the clock takes."""

from __future__ import annotations

import time

import pytest

from pgclinic.observe.clock_cost import clock_read_ns


def test_a_slow_clock_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    read = time.perf_counter_ns

    def slow() -> int:
        limit = read() + 20_000
        while read() < limit:
            continue
        return read()

    assert 0 <= clock_read_ns(batches=20, calls=50) < 20_000
    monkeypatch.setattr(time, "perf_counter_ns", slow)
    assert clock_read_ns(batches=3, calls=20) >= 19_000
