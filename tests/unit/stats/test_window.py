"""The length of an interleaved block's windows, chosen from the seconds of an A/A calibration."""

from __future__ import annotations

import math
import random

from pgclinic.stats.calibration import WindowNoise, best_window, window_noises


def waves(seed: int, correlation: float, seconds: int = 120) -> list[float]:
    """TPS by the second: a log level that remembers ``correlation`` of the second before, and noise of its own."""
    draw, level, values = random.Random(seed), 0.0, []
    for _ in range(seconds):
        level = correlation * level + draw.gauss(0.0, 0.1)
        values.append(1000.0 * math.exp(level + draw.gauss(0.0, 0.01)))
    return values


def test_waves_of_many_seconds_ask_for_the_shortest_window() -> None:
    noises = window_noises([waves(seed, 0.97) for seed in range(6)], guard_s=0.1)
    chosen = best_window(noises)
    assert chosen is not None and chosen.window_s == 1
    longer = next(noise for noise in noises if noise.window_s == 8)
    assert longer.score > 3.0 * chosen.score


def test_independent_seconds_ask_for_longer_windows_only_where_the_guard_takes_much_of_a_short_one() -> None:
    def chosen(guard_s: float) -> int:
        noises = [
            WindowNoise(window_s=length, deviation=0.1 / math.sqrt(length), counted_share=(length - guard_s) / length)
            for length in range(1, 11)
        ]
        best = best_window(noises)
        assert best is not None
        return best.window_s

    assert chosen(0.05) == 1
    assert chosen(0.6) > 3
    assert all(noise.window_s > 1 for noise in window_noises([waves(1, 0.0)], guard_s=1.0))


def test_too_short_series_choose_nothing() -> None:
    assert best_window(window_noises([[100.0, 101.0, 99.0]], guard_s=0.1)) is None
    assert best_window(window_noises([], guard_s=0.1)) is None
