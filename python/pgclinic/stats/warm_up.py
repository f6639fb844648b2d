"""When a trial has warmed up: a cut by the state of the server, and a flag for a trial that never settled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.stats.slope import theil_sen
from pgclinic.stats.summary import mean

#: Values in one batch of MSER-5.
BATCH = 5

#: Seconds in one bin of the state.
BIN_S = 5

#: The drift is read off the second half of the time so far, and off this many bins at least.
DRIFT_BINS = 4

#: Those bins, and the end is announced a second ahead and comes at a whole one.
SHORTEST_S = DRIFT_BINS * BIN_S + 2

#: What most take that end by state at all: one bin more.
LIKELY_S = SHORTEST_S + BIN_S

#: Nobody waits longer than this for a warm-up to end.
LONGEST_S = 60

#: Two bins agree when their TPS differ by no more than this share, and their miss rates by no more than this much.
TPS_SHARE = 0.05
MISS_RATE = 0.01

#: A level that goes on as it does would change by no more than this share in a minute.
DRIFT_A_MINUTE = 0.10


@dataclass(frozen=True)
class Cut:
    """The first ``cut_s`` seconds do not count. ``settled`` is False where the state had not come to rest by then."""

    cut_s: int
    settled: bool


def cut_by_state(tps: Sequence[float], miss_rates: Sequence[float] | None = None, *, longest_s: int = LONGEST_S) -> Cut:
    """The end of the first two neighbouring bins that agree, in a series that has stopped to drift.

    TPS and the share of pages not found in the cache must agree from bin to bin; that alone would call a level settled
    that rises by 4 % every 5 s, at half of its final height. So TPS must also not drift: the median slope over the
    second half of the time so far, continued for a minute, changes them by 10 % at most. A rise that is slower than
    that, or that noise hides, is not seen: what is promised is the drift and not the final level.

    Both series are by the second, from the start of the warm-up; without miss rates TPS alone must agree. The cut
    depends on the state and not on a fixed time, but only on the warm-up itself: never on what is measured after it.
    """
    if miss_rates is not None and len(miss_rates) != len(tps):
        raise ValueError(f"{len(tps)} seconds of TPS and {len(miss_rates)} of miss rates are not the same time")
    usable = min(len(tps), longest_s)
    for end in range(DRIFT_BINS * BIN_S, usable + 1, BIN_S):
        if _agree(tps[:end]) and _rests(tps[:end]) and (miss_rates is None or _stays(miss_rates[:end])):
            return Cut(cut_s=end, settled=True)
    return Cut(cut_s=usable, settled=False)


def _rests(tps: Sequence[float]) -> bool:
    """Whether the median slope of the later bins, continued for a minute, is a small part of the level."""
    bins = [mean(tps[at : at + BIN_S]) for at in range(0, len(tps) - BIN_S + 1, BIN_S)]
    later = bins[-max(DRIFT_BINS, len(bins) // 2) :]
    level = mean(later)
    slope = theil_sen([float(BIN_S * at) for at in range(len(later))], later)
    return abs(slope) * 60.0 <= DRIFT_A_MINUTE * level


def _last_bins(values: Sequence[float]) -> tuple[float, float]:
    return mean(values[-2 * BIN_S : -BIN_S]), mean(values[-BIN_S:])


def _agree(tps: Sequence[float]) -> bool:
    before, now = _last_bins(tps)
    return abs(now - before) <= TPS_SHARE * max(before, now)


def _stays(miss_rates: Sequence[float]) -> bool:
    before, now = _last_bins(miss_rates)
    return abs(now - before) <= MISS_RATE


def mser_cut(values: Sequence[float], batch: int = BATCH) -> int | None:
    """How many values MSER-5 would cut off at the start (White, Cobb and Spratt 2000); None for too few batches.

    Of the means of batches it drops the first d for which (sum of squares about the mean of the rest) / (their number
    squared) is least, the squared standard error as if they were independent; d is at most half of the batches.
    """
    means = [mean(values[at : at + batch]) for at in range(0, len(values) - batch + 1, batch)]
    count = len(means)
    if count < 4:
        return None
    best, least = 0, math.inf
    for dropped in range(count // 2 + 1):
        rest = means[dropped:]
        centre = mean(rest)
        score = math.fsum((value - centre) ** 2 for value in rest) / len(rest) ** 2
        if score < least:
            best, least = dropped, score
    return best * batch


def never_settled(values: Sequence[float], batch: int = BATCH) -> bool:
    """Whether MSER-5 would cut half of it: then there is no telling where the steady part begins.

    A flag and no cut: on noisy series the cut itself jumps about, and a cut chosen by the outcome biases it.
    """
    cut = mser_cut(values, batch)
    return cut is not None and cut // batch == len(values) // batch // 2
