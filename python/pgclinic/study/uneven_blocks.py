"""Blocks that vary in a way that few of them cannot show well: one arm alone, or counts beyond chance. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.study import Claim
from pgclinic.model.verdict import Interval, IntervalMethod
from pgclinic.stats.summary import mean, standard_deviation
from pgclinic.study.blocks import TPS, Pair
from pgclinic.study.figures import percent
from pgclinic.study.interval import FIRST_LOOK
from pgclinic.trial.finding import Finding

#: Noise of the machine is common to both arms; one that varies so many times as much has noise of its own.
SPREAD_TIMES = 3.0
#: Below this standard deviation, as a share, it does not matter.
SPREAD_MIN = 0.10
#: Counts of one rate have a variance of their mean; so many times that is another rate in each block.
DISPERSION = 2.0
#: Larger counts always vary beyond chance: there the spread of the machine shows.
_COUNTED_MAX = 100
ADVICE = "run eight blocks or more, and look at what holds the arm up: few blocks do not show a skew"


def uneven_blocks(claim: Claim, pairs: Sequence[Pair], interval: Interval | None) -> Finding | None:
    """An arm that varies from block to block unlike the other, or counts that vary more than chance explains."""
    if claim.measure != TPS or claim.levels or len(pairs) < FIRST_LOOK or interval is None:
        return None
    if interval.method is IntervalMethod.COUNTS:
        return _dispersed(claim, pairs)
    values = {claim.control: [pair.values[0] for pair in pairs], claim.arm: [pair.values[-1] for pair in pairs]}
    spreads = {name: standard_deviation([math.log(value) for value in own]) for name, own in values.items()}
    wide, narrow = max(spreads, key=spreads.__getitem__), min(spreads, key=spreads.__getitem__)
    if math.expm1(spreads[wide]) < SPREAD_MIN or spreads[wide] < SPREAD_TIMES * spreads[narrow]:
        return None
    return Finding(
        text=f"{wide} varied by {percent(math.expm1(spreads[wide]))} from block to block and {narrow} by "
        f"{percent(math.expm1(spreads[narrow]))} (standard deviations): noise of one arm alone may be skewed",
        advice=ADVICE,
        share=min(1.0, math.expm1(spreads[wide])),
    )


def _dispersed(claim: Claim, pairs: Sequence[Pair]) -> Finding | None:
    counts = [pair.counts for pair in pairs if pair.counts is not None]
    for name, own in ((claim.control, [one.control for one in counts]), (claim.arm, [one.arm for one in counts])):
        centre = mean(own)
        if centre > 0 and standard_deviation(own) ** 2 >= DISPERSION * centre and sum(own) < _COUNTED_MAX:
            return Finding(
                text=f"{name} had from {min(own):,} to {max(own):,} events in a block, which varies more than chance "
                "explains",
                advice=ADVICE,
            )
    return None
