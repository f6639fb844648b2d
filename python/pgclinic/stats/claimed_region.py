"""Where the ratio must lie for a claim to hold, for it to be no effect, and for it to be contradicted."""

from __future__ import annotations

import math

#: Ratios this near to 1 are no difference: 5 % up, and as far down on the log scale.
NULL_EFFECT = math.log(1.05)


def null_zone() -> tuple[float, float]:
    """The ratios that count as no difference. Symmetric in the logarithm, so that swapping the arms mirrors it."""
    return math.exp(-NULL_EFFECT), math.exp(NULL_EFFECT)


def direction(published_ratio: float) -> int:
    """-1 where the arm is claimed to be slower, +1 faster, 0 where the published ratio lies inside the null zone."""
    effect = math.log(published_ratio)
    if abs(effect) <= NULL_EFFECT:
        return 0
    return 1 if effect > 0 else -1


def claimed_region(published_ratio: float) -> tuple[float, float]:
    """Half to twice the published log effect: a foreign machine may show the same illness milder or worse.

    A claim of no difference claims the null zone; a claimed effect, however small, claims nothing of it.
    """
    if published_ratio <= 0:
        raise ValueError(f"a ratio of TPS is above zero, not {published_ratio}")
    if direction(published_ratio) == 0:
        return null_zone()
    effect = math.log(published_ratio)
    weak = max(abs(effect) / 2.0, NULL_EFFECT)
    strong = abs(effect) * 2.0
    if effect < 0:
        return math.exp(-strong), math.exp(-weak)
    return math.exp(weak), math.exp(strong)
