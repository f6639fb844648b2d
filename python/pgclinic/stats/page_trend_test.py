"""Does it rise with every step? Page's L (1963) on randomised complete blocks.

Each block has one value a level, in the order in which the claim says they rise. Values are ranked inside their block,
so blocks may differ as they like, and L = sum over levels j of j times the rank sum of level j. If the level does not
matter, all orders of a block's ranks are equally likely: that gives the exact distribution, ties included (they share
their mean rank), or for many levels its normal limit.

The p value is for one look, after a number of blocks fixed beforehand. Blocks are independent and the distribution of
each is known, so their likelihood ratios multiply to an e-process: that one may be looked at after every block.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pgclinic.stats.summary import mean

#: With more levels or blocks than this the exact distribution is large and the normal one close.
EXACT_LEVELS_MAX = 9
EXACT_BLOCKS_MAX = 100

#: Strengths of trend the e-process bets on, in standard deviations of one block's score; the bets share the stake.
_TILTS = (1.0, 2.0)

Scores = Mapping[int, float]


@dataclass(frozen=True)
class PageTrend:
    """``statistic`` is L, ``expected`` its mean without a trend; ``p_value`` is one-sided, for a rise."""

    statistic: float
    expected: float
    p_value: float
    exact: bool


def mid_ranks(values: Sequence[float]) -> tuple[float, ...]:
    """Ranks from 1; equal values share the mean of the ranks that they take up."""
    ordered = sorted(values)
    first: dict[float, int] = {}
    for rank, value in enumerate(ordered, start=1):
        first.setdefault(value, rank)
    return tuple(first[value] + (ordered.count(value) - 1) / 2.0 for value in values)


def page_trend(blocks: Sequence[Sequence[float]], direction: int = 1) -> PageTrend:
    """Test whether values rise from level to level; with ``direction`` -1, whether they fall."""
    ranked = [mid_ranks([direction * value for value in block]) for block in _complete(blocks)]
    levels = len(ranked[0])
    statistic = sum(_score(ranks) for ranks in ranked) / 2.0
    expected = len(ranked) * levels * (levels + 1) ** 2 / 4.0
    exact = levels <= EXACT_LEVELS_MAX and len(ranked) <= EXACT_BLOCKS_MAX
    p_value = _exact_tail(ranked) if exact else _normal_tail(ranked, statistic - expected)
    return PageTrend(statistic=statistic, expected=expected, p_value=p_value, exact=exact)


def log_trend_e_value(blocks: Sequence[Sequence[float]], direction: int = 1) -> float:
    """Natural log of the evidence against "the level does not matter" and for a rise (-1: a fall), valid at any look.

    A block of score s multiplies the stake by exp(b s) / E[exp(b s)], the expectation over all orders of its ranks.
    """
    ranked = [mid_ranks([direction * value for value in block]) for block in _complete(blocks)]
    if len(ranked[0]) > EXACT_LEVELS_MAX:
        raise ValueError(f"the e-value needs {EXACT_LEVELS_MAX} levels or fewer, not {len(ranked[0])}")
    logs = [math.fsum(_log_tilted(ranks, tilt) for ranks in ranked) for tilt in _TILTS]
    greatest = max(logs)
    return greatest + math.log(math.fsum(math.exp(value - greatest) for value in logs) / len(logs))


def _complete(blocks: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    if not blocks:
        raise ValueError("a trend needs one block or more")
    levels = {len(block) for block in blocks}
    if len(levels) > 1 or min(levels) < 2:
        raise ValueError(f"each block needs a value of every level, and two levels or more; lengths are {levels}")
    return blocks


def _score(ranks: Sequence[float]) -> int:
    """Twice a block's part of L: mid-ranks are halves, and whole numbers add up exactly."""
    return round(2 * sum(level * rank for level, rank in enumerate(ranks, start=1)))


@lru_cache(maxsize=256)
def _scores(sorted_ranks: tuple[float, ...]) -> Scores:
    """The distribution of a block's score when all orders of its ranks are equally likely.

    Level by level, over the sets of ranks already given away: 2^k sets instead of k! orders.
    """
    count = len(sorted_ranks)
    reached: dict[int, dict[int, float]] = {0: {0: 1.0}}
    for level in range(1, count + 1):
        following: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for taken, sums in reached.items():
            for index, rank in enumerate(sorted_ranks):
                if taken & (1 << index):
                    continue
                step = round(2 * level * rank)
                after = following[taken | (1 << index)]
                for value, chance in sums.items():
                    after[value + step] += chance / (count - level + 1)
        reached = following
    (scores,) = reached.values()
    return dict(scores)


@lru_cache(maxsize=256)
def _totals(patterns: tuple[tuple[float, ...], ...]) -> Scores:
    """The distribution of the sum over blocks, each given by its ranks in rising order."""
    if len(patterns) == 1:
        return _scores(patterns[0])
    totals: dict[int, float] = defaultdict(float)
    steps = _scores(patterns[-1])
    for value, chance in _totals(patterns[:-1]).items():
        for step, share in steps.items():
            totals[value + step] += chance * share
    return dict(totals)


def _exact_tail(ranked: Sequence[tuple[float, ...]]) -> float:
    """P(L as large as seen or larger)."""
    totals = _totals(tuple(sorted(tuple(sorted(ranks)) for ranks in ranked)))
    seen = sum(_score(ranks) for ranks in ranked)
    return min(1.0, math.fsum(chance for value, chance in totals.items() if value >= seen))


def _normal_tail(ranked: Sequence[tuple[float, ...]], excess: float) -> float:
    """A permuted block's sum of j times rank has the variance (squares of j)(squares of ranks)/(k - 1)."""
    levels = len(ranked[0])
    of_levels = _squares(range(1, levels + 1))
    variance = math.fsum(of_levels * _squares(ranks) / (levels - 1) for ranks in ranked)
    return math.erfc(excess / math.sqrt(2.0 * variance)) / 2.0 if variance > 0.0 else 1.0


def _squares(values: Sequence[float]) -> float:
    """Sum of squared deviations from the mean."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values)


def _log_tilted(ranks: tuple[float, ...], tilt: float) -> float:
    centre, bet, log_expectation = _terms(tuple(sorted(ranks)), tilt)
    return bet * (_score(ranks) - centre) - log_expectation


@lru_cache(maxsize=256)
def _terms(sorted_ranks: tuple[float, ...], tilt: float) -> tuple[float, float, float]:
    """Mean score, what is bet on each point above it, and the log of what that bet pays when orders are equally likely.

    Nothing is bet on a block whose values are all equal.
    """
    scores = _scores(sorted_ranks)
    centre = math.fsum(value * chance for value, chance in scores.items())
    variance = math.fsum((value - centre) ** 2 * chance for value, chance in scores.items())
    bet = tilt / math.sqrt(variance) if variance > 0.0 else 0.0
    return (
        centre,
        bet,
        math.log(math.fsum(math.exp(bet * (value - centre)) * chance for value, chance in scores.items())),
    )
