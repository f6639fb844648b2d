"""How many different values there really were, given what ANALYZE wrote down.

ANALYZE estimates from a sample by Haas and Stokes (IBM Research Report RJ 10025, the estimator Duj1):
n d / (n - f1 + f1 n / N), with d different values and f1 of them once in the n rows of the sample, out of N rows.
"""

from __future__ import annotations

import math

#: Rows of ANALYZE's sample for each step of the statistics target, and the target that nobody changed.
SAMPLE_PER_TARGET = 300
TARGET = 100
_STEPS = 60


def estimated(rest: float, common: int, rows: float, rest_share: float, filled_share: float, sample: float) -> float:
    """What ANALYZE expects to find: ``common`` values that it surely sees, and ``rest`` values of equal frequency.

    ``rest_share`` is the share of the rows that have one of these, ``filled_share`` of those that are not null.
    """
    filled = sample * filled_share
    drawn = sample * rest_share
    unseen = math.exp(drawn * math.log1p(-1.0 / rest)) if rest > 1 else 0.0
    seen = common + rest * (1.0 - unseen)
    once = drawn * (unseen / (1.0 - 1.0 / rest) if rest > 1 else 0.0)
    once = min(once, filled)
    whole = rows * filled_share
    denominator = filled - once + once * filled / whole if whole else filled
    estimate = filled * seen / denominator if denominator > 0 else seen
    return min(max(estimate, seen), whole)


def rest_distinct(distinct: float, common: int, rows: float, rest_share: float, filled_share: float) -> float:
    """How many values the rows have that are neither null nor common.

    ``distinct`` is n_distinct: a number, or below 0 the negative share of ``rows``.
    """
    found = -distinct * rows if distinct < 0 else distinct
    sample = min(float(SAMPLE_PER_TARGET * TARGET), rows)
    most = rest_share * rows
    if most <= 0:
        return 0.0
    if sample >= rows or found >= filled_share * rows * 0.999:
        return min(max(found - common, 1.0), most)
    low, high = 1.0, max(most, 1.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if estimated(middle, common, rows, rest_share, filled_share, sample) < found:
            low = middle
        else:
            high = middle
    return (low + high) / 2
