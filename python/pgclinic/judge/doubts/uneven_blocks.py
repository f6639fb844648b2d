"""Blocks that vary in a way that few of them cannot show well: one arm alone, or counts beyond chance. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.doubts.stalled_trials import STALLED_SHARE
from pgclinic.judge.evidence import TPS, Pair
from pgclinic.judge.interval import FIRST_LOOK
from pgclinic.model.doubt import CountsDispersed, Doubt, DoubtKind, SpeedsApart, SpreadUneven
from pgclinic.model.study import Question
from pgclinic.model.verdict import Interval, IntervalMethod
from pgclinic.stats.summary import mean, median, standard_deviation

#: Noise of the machine is common to both arms; one that varies so many times as much has noise of its own.
SPREAD_TIMES = 3.0
#: Below this standard deviation, as a share, it does not matter.
SPREAD_MIN = 0.10
#: A trial that is slower than the arm's median by this share, and by so many times the spread of the others, ran at
#: another speed; above this share of the trials there is no usual speed.
SLOWER_SHARE = 0.25
SLOWER_TIMES = 4.0
SLOW_MOST = 1 / 3
#: Counts of one rate have a variance of their mean; so many times that is another rate in each block.
DISPERSION = 2.0
#: Larger counts always vary beyond chance: there the spread of the machine shows.
_COUNTED_MAX = 100


def uneven_blocks(claim: Question, pairs: Sequence[Pair], interval: Interval | None) -> Doubt | None:
    """An arm that varies from block to block unlike the other, or counts that vary more than chance explains."""
    if claim.measure != TPS or claim.levels or len(pairs) < FIRST_LOOK or interval is None:
        return None
    if interval.method is IntervalMethod.COUNTS:
        return _dispersed(claim, pairs)
    apart = two_speeds(claim, pairs)
    if apart is not None:
        return apart
    values = {claim.control: [pair.values[0] for pair in pairs], claim.arm: [pair.values[-1] for pair in pairs]}
    logs = {name: standard_deviation([math.log(value) for value in own]) for name, own in values.items()}
    spreads = {name: math.expm1(spread) for name, spread in logs.items()}
    wide, narrow = max(logs, key=logs.__getitem__), min(logs, key=logs.__getitem__)
    if spreads[wide] < SPREAD_MIN or logs[wide] < SPREAD_TIMES * logs[narrow]:
        return None
    return Doubt(
        kind=DoubtKind.UNEVEN_BLOCKS,
        share=min(1.0, spreads[wide]),
        facts=SpreadUneven(wide=wide, wide_spread=spreads[wide], narrow=narrow, narrow_spread=spreads[narrow]),
    )


def two_speeds(claim: Question, pairs: Sequence[Pair]) -> Doubt | None:
    """An arm that ran at another, lower speed in a few of its trials while the other arm did not.

    A mean of two speeds has its coverage only once both were seen often. Noise of the machine slows the other arm
    of the block as well, so a slow trial is one whose block ratio stands out too.
    """
    own = {claim.control: [pair.values[0] for pair in pairs], claim.arm: [pair.values[-1] for pair in pairs]}
    for name, other in ((claim.control, claim.arm), (claim.arm, claim.control)):
        logs = [math.log(value) for value in own[name]]
        apart = [log - math.log(value) for log, value in zip(logs, own[other], strict=True)]
        slow = [at for at in range(len(logs)) if _stands_out(logs, at) and _stands_out(apart, at)]
        if not slow or len(slow) > SLOW_MOST * len(pairs):
            continue
        share = math.exp(mean([logs[at] for at in slow]) - median(logs))
        if share <= STALLED_SHARE:
            continue
        trial = pairs[slow[0]].control if name == claim.control else pairs[slow[0]].arm
        facts = SpeedsApart(arm=name, slow=len(slow), trials=len(pairs), slow_share=share, trial=trial.spec.number)
        return Doubt(kind=DoubtKind.UNEVEN_BLOCKS, share=len(slow) / len(pairs), facts=facts)
    return None


def _stands_out(logs: Sequence[float], at: int) -> bool:
    """Far below the median, by the spread of those that are not far below."""
    bar = median(logs) + math.log(1.0 - SLOWER_SHARE)
    rest = [log for log in logs if log >= bar]
    if logs[at] >= bar or len(rest) < 2:
        return False
    return mean(rest) - logs[at] >= SLOWER_TIMES * standard_deviation(rest)


def _dispersed(claim: Question, pairs: Sequence[Pair]) -> Doubt | None:
    counts = [pair.counts for pair in pairs if pair.counts is not None]
    for name, own in (
        (claim.control, [count.control for count in counts]),
        (claim.arm, [count.arm for count in counts]),
    ):
        centre = mean(own)
        if centre > 0 and standard_deviation(own) ** 2 >= DISPERSION * centre and sum(own) < _COUNTED_MAX:
            facts = CountsDispersed(arm=name, fewest=min(own), most=max(own))
            return Doubt(kind=DoubtKind.UNEVEN_BLOCKS, facts=facts)
    return None
