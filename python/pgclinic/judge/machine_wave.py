"""A wave of the machine's speed in the trials of a claim, and the block ratios without it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import Pair
from pgclinic.load.by_second import full_seconds, transactions_by_second
from pgclinic.model.load import LoadResult
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.machine_wave import Wave, find_wave
from pgclinic.stats.summary import mean
from pgclinic.trial.steadiness import falls_by_design

#: Fewer full seconds than this have no halves.
SHORTEST_S = 4
#: Fewer blocks have no interval, and too few trials for a wave.
BLOCKS_MIN = 4


def wave_among(pairs: Sequence[Pair]) -> Wave | None:
    """The wave that goes through the trials; None without one, and where the trials cannot show one.

    Each trial gives the TPS of its two halves, so trials of some seconds, stalled ones, and those that are to fall by
    design show none. Interleaved blocks have no such wave: their windows take turns by the second.
    """
    if len(pairs) < BLOCKS_MIN or any(pair.counts is None or len(pair.trials) != 2 for pair in pairs):
        return None
    at_s: list[float] = []
    logs: list[float] = []
    is_arm: list[bool] = []
    for pair in pairs:
        for trial in (pair.control, pair.arm):
            if trial.load is None or falls_by_design(trial.spec.condition) or not _has_halves(trial.load):
                return None
            at_s.extend(_middles(trial.load))
            logs.extend(_log_halves(trial.load))
            is_arm.extend([trial is pair.arm] * 2)
    return find_wave(at_s, logs, is_arm, 2 * len(pairs))


def without_wave(pairs: Sequence[Pair], wave: Wave) -> list[float]:
    """The log ratio of each block with the wave's mean over either trial taken out of it."""
    return [pair.log_ratio - _level(pair.arm, wave) + _level(pair.control, wave) for pair in pairs]


def _level(trial: TrialRecord, wave: Wave) -> float:
    return mean([wave.at(moment) for moment in _middles(trial.load)]) if trial.load is not None else 0.0


def _has_halves(load: LoadResult) -> bool:
    seconds = transactions_by_second(load)
    half = len(seconds) // 2
    return load.windows is None and len(seconds) >= SHORTEST_S and min(sum(seconds[:half]), sum(seconds[-half:])) > 0


def _middles(load: LoadResult) -> tuple[float, float]:
    """The middle of either half of the measured time, in seconds of the wall clock."""
    seconds = full_seconds(load)
    half, begun_s = seconds // 2, load.started_epoch_us / 1e6
    return begun_s + half / 2.0, begun_s + seconds - half / 2.0


def _log_halves(load: LoadResult) -> tuple[float, float]:
    """The logarithms of the TPS of either half."""
    seconds = transactions_by_second(load)
    half = len(seconds) // 2
    return math.log(sum(seconds[:half]) / half), math.log(sum(seconds[-half:]) / half)
