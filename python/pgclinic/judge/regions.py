"""From an interval to a word: where the interval of a ratio lies among the claimed region and the null zone.

Everything here is a ratio. The claimed region C and the null zone Z cut the line of ratios into cells; an interval
that lies in one cell has its word for good, one that crosses an edge may still change it.

For an interval I and a claim with a direction, whose region lies beyond Z on the claimed side, exactly one holds:

- I inside C: replicated;
- I beyond Z on the claimed side, with a point outside of C: replicated in direction;
- I inside Z: no effect;
- I beyond Z on the other side: contradicted;
- I has no point of C and crosses an edge of Z: not replicated. The claim is refuted, whether by a weaker effect, none
  or the opposite one;
- I has a point of C and crosses the edge of Z on the claimed side: inconclusive.

A claim of no difference names no side: outside of both C and Z is contradicted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgclinic.model.study import Bound, Direction, Question
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats.claimed_region import claimed_region, direction, null_zone

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Ground:
    """The edges a claim is judged by. ``direction`` is -1 for slower, 1 for faster, 0 for a claim of no difference."""

    region: Bounds
    null_zone: Bounds
    direction: int


def ground_of(claim: Question) -> Ground:
    return Ground(region=region_of(claim), null_zone=null_zone(), direction=direction_of(claim))


def direction_of(claim: Question) -> int:
    """-1 where the arm is claimed to be lower, 1 higher, 0 for equivalence, non-inferiority and an open question."""
    if claim.published_ratio is not None:
        return direction(claim.published_ratio)
    named = _named_direction(claim)
    return -1 if named is Direction.LOWER else 1 if named is Direction.HIGHER else 0


def region_of(claim: Question) -> Bounds:
    """The claimed region of the ratio, from 0 or up to infinity where it is one-sided."""
    if claim.region_edges is not None:
        return claim.region_edges
    published, margin = claim.published, null_zone()
    if published is not None and published.ratio is not None:
        low, high = claimed_region(published.ratio)
        return 0.0 if published.bound is Bound.AT_MOST else low, math.inf if published.bound is Bound.AT_LEAST else high
    regions: dict[Direction | None, Bounds] = {
        Direction.LOWER: (0.0, margin[0]),
        Direction.HIGHER: (margin[1], math.inf),
        Direction.NOT_LOWER: (margin[0], math.inf),
        Direction.NOT_HIGHER: (0.0, margin[1]),
    }
    return regions.get(_named_direction(claim), margin)


def _named_direction(claim: Question) -> Direction | None:
    if claim.expected is not None:
        return claim.expected.direction
    return claim.published.direction if claim.published is not None else None


def inside(interval: Bounds, zone: Bounds) -> bool:
    return zone[0] <= interval[0] and interval[1] <= zone[1]


def outside(interval: Bounds, zone: Bounds) -> bool:
    """No common point."""
    return interval[1] < zone[0] or interval[0] > zone[1]


def on_claimed_side(interval: Bounds, ground: Ground) -> bool:
    """Entirely beyond the null zone, on the side that the claim names."""
    if ground.direction < 0:
        return interval[1] < ground.null_zone[0]
    return ground.direction > 0 and interval[0] > ground.null_zone[1]


def contradicts(interval: Bounds, ground: Ground) -> bool:
    """Entirely beyond the null zone, on the other side; for a claim of no difference on either side."""
    if ground.direction < 0:
        return interval[0] > ground.null_zone[1]
    if ground.direction > 0:
        return interval[1] < ground.null_zone[0]
    return outside(interval, ground.null_zone) and outside(interval, ground.region)


def word_for(interval: Bounds, ground: Ground) -> VerdictWord:
    """The first word that fits, from the most to the least said. Infinite bounds are inconclusive."""
    if inside(interval, ground.region):
        return VerdictWord.REPLICATED
    if inside(interval, ground.null_zone):
        return VerdictWord.NO_EFFECT
    if contradicts(interval, ground):
        return VerdictWord.CONTRADICTED
    if on_claimed_side(interval, ground):
        return VerdictWord.REPLICATED_IN_DIRECTION
    if outside(interval, ground.region):
        return VerdictWord.NOT_REPLICATED
    return VerdictWord.INCONCLUSIVE


#: Words of an interval that crosses an edge of the equivalence margin: more blocks may give one that says more.
MAY_CHANGE = (VerdictWord.INCONCLUSIVE, VerdictWord.NOT_REPLICATED, VerdictWord.NOT_CONFIRMED)


def qualifier_for(estimate: float, ground: Ground) -> str | None:
    """Weaker or stronger than claimed, by the estimate; None where it lies inside the region and only its interval
    reaches out: then the size is open, and to call it either would say more than was seen."""
    if ground.region[0] <= estimate <= ground.region[1] or ground.direction == 0:
        return None
    effect = math.log(estimate) * ground.direction
    nearest = min(_log(edge) * ground.direction for edge in ground.region)
    return "weaker" if effect < nearest else "stronger"


def settled(interval: Bounds, ground: Ground) -> bool:
    """Whether more blocks can no longer be expected to change the word.

    An interval on the claimed side that straddles an edge of the region is *replicated in direction* so far, and
    may yet become *replicated* or stay weaker or stronger for good: it is settled only once it has left the region.
    One that is *not replicated* excludes the region, but may still turn out weaker, no effect or the opposite.
    """
    word = word_for(interval, ground)
    if word is VerdictWord.REPLICATED_IN_DIRECTION:
        return outside(interval, ground.region)
    return word not in MAY_CHANGE


def edges_around(estimate: float, ground: Ground) -> tuple[float, ...]:
    """The edges that an interval round ``estimate`` must not cross to be settled, as ratios."""
    point = (estimate, estimate)
    region = tuple(edge for edge in ground.region if 0 < edge < math.inf)
    if inside(point, ground.region):
        return region
    if inside(point, ground.null_zone):
        return ground.null_zone
    if contradicts(point, ground) and ground.direction != 0:
        return (ground.null_zone[1] if ground.direction < 0 else ground.null_zone[0],)
    return (*region, *ground.null_zone)


def _log(edge: float) -> float:
    return math.log(edge) if edge > 0 else -math.inf
