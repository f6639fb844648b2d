"""How long a slice should be on this machine, and how small an effect can be told in a budget.

Both are read off an A/A calibration: TPS by the second while nothing differs. A pair of slices of length L costs 2L and
the switch between the arms, and its log ratio has the variance v(L). Blocks are averaged, so a budget B leaves the
variance v(L) (2L + switch) / B: the best length has the least v(L) (2L + switch). Independent seconds would ask for the
longest slice, a drifting machine for the shortest; real ones lie between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import NormalDist

from pgclinic.stats import planned_sequence
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import half_width
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.student_t import quantile, t_half_width
from pgclinic.stats.summary import mean

#: A length this little worse than the best one cannot be told from it in a minute, and a shorter one gives more blocks.
AS_GOOD = 1.1

#: Fewer pairs than this, side by side, show no spread.
PAIRS_MIN = 3

#: The 70 % point of the normal distribution.
_NORMAL_70 = NormalDist().inv_cdf(0.7)

#: How likely an effect of the size called resolvable is resolved.
POWER = 0.8


@dataclass(frozen=True)
class SliceNoise:
    """What slices of ``length_s`` are worth: the standard deviation of the log ratio of two neighbours.

    ``pair_s`` is what a pair costs, switch included; ``pairs`` how many lay side by side where it was read off.
    """

    length_s: int
    deviation: float
    pair_s: float
    pairs: int

    @property
    def score(self) -> float:
        """The variance times the seconds that a pair takes; less is better."""
        return self.deviation**2 * self.pair_s

    @property
    def cautious_deviation(self) -> float:
        """What a plan should reckon with: the deviation itself is known from a handful of pairs only."""
        return self.deviation * caution(self.pairs)


def caution(pairs: int) -> float:
    """By what factor a deviation read off ``pairs`` pairs may be too small: exceeded in three cases of ten.

    The variance over the truth is distributed as chi-square over its degrees of freedom; its lower 30 % point by Wilson
    and Hilferty (1931). In simulations this lets four of five studies detect what their calibration had promised;
    without it two of three do.
    """
    part = 2.0 / (9.0 * pairs)
    cube_root = 1.0 - part - _NORMAL_70 * math.sqrt(part)
    return 1.0 / math.sqrt(cube_root**3)


def neighbour_log_ratios(tps: Sequence[float], length_s: int, gap_s: int = 0) -> tuple[float, ...]:
    """The log ratio of each two slices of ``length_s`` seconds that lie ``gap_s`` apart, wherever they fit.

    The places overlap: that adds no independent evidence, but wastes none. Raises ValueError for a slice of no TPS.
    """
    sums = [0.0, *accumulate(tps)]
    step = length_s + gap_s
    last = len(tps) - length_s - step
    return tuple(
        log_ratio(sums[at + step + length_s] - sums[at + step], sums[at + length_s] - sums[at])
        for at in range(last + 1)
    )


def gap_between(series: Iterable[Sequence[float]], switch_s: float) -> int:
    """Whole seconds between the slices of a pair: half of what the two switches take, as far as the series show it.

    Without the gap one-second slices would look best of all: neighbouring seconds share their noise, and a comparison
    within the second cancels it. No server is switched that fast.
    """
    longest = max((len(tps) for tps in series), default=0)
    return min(math.ceil(switch_s / 2.0), longest // 4)


def pairs_side_by_side(series: Iterable[Sequence[float]], length_s: int, gap_s: int = 0) -> int:
    """How many pairs of slices fit without overlapping."""
    return sum(len(tps) // (2 * length_s + gap_s) for tps in series)


def longest_length(series: Sequence[Sequence[float]], gap_s: int = 0) -> int:
    """The longest slice whose noise can be read off: of its pairs ``PAIRS_MIN`` fit side by side; 0 for none."""
    longest = 0
    while pairs_side_by_side(series, longest + 1, gap_s) >= PAIRS_MIN:
        longest += 1
    return longest


def pair_deviation(series: Sequence[Sequence[float]], length_s: int, gap_s: int = 0) -> float:
    """Root mean square of the log ratios of neighbours, over all series in which two slices fit.

    About zero and not about their mean: in an A/A calibration the true ratio is 1.
    """
    squares = [value**2 for tps in series for value in neighbour_log_ratios(tps, length_s, gap_s)]
    if not squares:
        raise ValueError(f"no series holds two slices of {length_s} s")
    return math.sqrt(mean(squares))


def restart_deviation(series: Sequence[Sequence[float]], within: SliceNoise) -> float:
    """Standard deviation of a trial's log level from restart to restart, beyond what its seconds explain.

    ``within`` is the noise of a slice; a whole trial's is taken to shrink with its length, as independent slices would
    make it: on a drifting machine too little is taken off, which errs to the safe side. 0 for fewer than two series.
    """
    if len(series) < 2:
        return 0.0
    levels = [(mean(tps), len(tps)) for tps in series]
    spread = mean(
        [log_ratio(b, a) ** 2 for (a, _), (b, _) in pairwise(levels)],
    )
    shrunk = within.deviation**2 * within.length_s / mean([length for _, length in levels])
    return math.sqrt(max(0.0, spread - shrunk) / 2.0)


def slice_noises(
    series: Sequence[Sequence[float]], switch_s: float, restart: float = 0.0, shortest_s: int = 1
) -> tuple[SliceNoise, ...]:
    """The noise of every length that the series can show, shortest first.

    ``switch_s`` is what a pair costs beyond its two slices; ``restart`` the deviation that every slice brings along
    however long it is.
    """
    gap_s = gap_between(series, switch_s)
    lengths = range(max(1, shortest_s), longest_length(series, gap_s) + 1)
    return tuple(
        SliceNoise(
            length_s=length,
            deviation=math.hypot(pair_deviation(series, length, gap_s), math.sqrt(2.0) * restart),
            pair_s=2 * length + switch_s,
            pairs=pairs_side_by_side(series, length, gap_s),
        )
        for length in lengths
    )


def best_slice(noises: Sequence[SliceNoise], budget_s: float, blocks_min: int) -> SliceNoise | None:
    """The shortest length whose score is as good as the best; only lengths of which the budget holds enough blocks.

    None where the budget holds too few blocks of any.
    """
    affordable = [noise for noise in noises if blocks_in_budget(noise.pair_s, budget_s) >= blocks_min]
    if not affordable:
        return None
    limit = AS_GOOD * min(noise.score for noise in affordable)
    return next(noise for noise in affordable if noise.score <= limit)


#: Longer windows than this are no interleaving: noise of a shared machine changes within some seconds.
WINDOW_S_MAX = 10


@dataclass(frozen=True)
class WindowNoise:
    """What windows of ``window_s`` are worth in an interleaved block, guard included.

    ``deviation`` is the standard deviation of the log ratio of two windows that follow each other; ``counted_share``
    the part of a window that counts.
    """

    window_s: int
    deviation: float
    counted_share: float

    @property
    def score(self) -> float:
        """The variance that a block of a given length leaves; less is better.

        A block of T seconds holds T / 2L pairs of windows, so its variance is v(L) 2L / T; a guard takes away from what
        counts, which makes it larger by as much.
        """
        return self.deviation**2 * 2.0 * self.window_s / self.counted_share


def window_noises(series: Sequence[Sequence[float]], guard_s: float) -> tuple[WindowNoise, ...]:
    """The noise of every window length that the series can show, shortest first.

    Windows follow each other without a gap, unlike the slices of sequential blocks: nothing is started in between.
    """
    longest = min(WINDOW_S_MAX, longest_length(series))
    return tuple(
        WindowNoise(
            window_s=length,
            deviation=pair_deviation(series, length),
            counted_share=(length - guard_s) / length,
        )
        for length in range(1, longest + 1)
        # A window without a transaction has no log ratio, so nothing can be said of windows as short as that.
        if length > guard_s and not any(_has_empty_run(tps, length) for tps in series)
    )


def _has_empty_run(tps: Sequence[float], length: int) -> bool:
    return any(not any(tps[at : at + length]) for at in range(len(tps) - length + 1))


def best_window(noises: Sequence[WindowNoise]) -> WindowNoise | None:
    """The shortest window whose score is as good as the best; None where the series showed none."""
    if not noises:
        return None
    limit = AS_GOOD * min(noise.score for noise in noises)
    return next(noise for noise in noises if noise.score <= limit)


def blocks_in_budget(block_s: float, budget_s: float) -> int:
    """How many whole blocks of ``block_s`` seconds fit."""
    return max(0, math.floor(budget_s / block_s + 1e-9))


def _reach(deviation: float, blocks: int, alpha: float, power: float, *, fixed: bool, horizon: int | None) -> float:
    """How far from its centre an edge must lie for an interval after ``blocks`` blocks to clear it, with ``power``."""
    if fixed:
        half = t_half_width(blocks, deviation, alpha)
    elif horizon is not None:
        half = planned_sequence.half_width(blocks, deviation, horizon)
    else:
        half = half_width(blocks, deviation, alpha)
    if math.isinf(half):
        return math.inf
    return half + quantile(power, blocks - 1) * deviation / math.sqrt(blocks)


def smallest_effect(
    deviation: float,
    blocks: int,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    fixed: bool = False,
    horizon: int | None = None,
) -> float:
    """The least log effect whose direction is told: its interval leaves the null zone within ``blocks`` blocks.

    With ``fixed`` it is looked at once, after just so many; ``horizon`` are the blocks planned at most.
    Infinite where so few blocks bound nothing.
    """
    return NULL_EFFECT + _reach(deviation, blocks, alpha, power, fixed=fixed, horizon=horizon)


def shows_no_effect(
    deviation: float,
    blocks: int,
    alpha: float = 0.05,
    power: float = POWER,
    *,
    fixed: bool = False,
    horizon: int | None = None,
) -> bool:
    """Whether arms that are truly equal would be shown to be: their interval fits into the null zone."""
    # Both ends must clear their edge, so each may fail half as often.
    return _reach(deviation, blocks, alpha, (1.0 + power) / 2.0, fixed=fixed, horizon=horizon) <= NULL_EFFECT
