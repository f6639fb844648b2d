"""Evidence as e-values, which may be looked at at any time and combined across claims.

An e-value has an expectation of at most 1 where the hypothesis holds: 20 is as rare under it as a bet that pays 20 to 1
from a fair bank. The process is the one that the always-valid interval inverts (Lai 1976): the mixture t statistic

    M = (1 + n g)^(-1/2) ((1 + t^2/nu) / (1 + t^2/(nu (1 + n g))))^(n/2),   nu = n - 1,

a Bayes factor with a normal mixture of variance g over the standardised mean and the right Haar prior of the scale. So
"M reaches 1/alpha against m" and "the interval excludes m" are the same event. A hypothesis that allows many means is
charged with the mean that fits the values best, which is the nearest: M grows with the distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.confidence_sequence import MIXTURE
from pgclinic.stats.counterbalanced import BlockMean, block_mean

Range = tuple[float, float]


def log_e_value(values: Sequence[float], hypothesis: Sequence[Range], mixture: float = MIXTURE) -> float:
    """Natural log of the evidence against "the mean lies in one of these closed ranges"; 0 for fewer than two values.

    Ranges may be infinite on one side. A negative value is evidence of nothing: it only tells how much was bet in vain.
    """
    return log_e_value_about(block_mean(values), hypothesis, mixture) if values else 0.0


def log_e_value_about(seen: BlockMean, hypothesis: Sequence[Range], mixture: float = MIXTURE) -> float:
    """The same for a mean that is known with its spread, as that of counterbalanced blocks is."""
    if not hypothesis:
        raise ValueError("a hypothesis that allows no mean cannot be tested")
    if seen.blocks < 2:
        return 0.0
    distance = min(_distance(seen.centre, allowed) for allowed in hypothesis) / seen.widening
    return _log_mixture(distance, seen.deviation, seen.blocks, mixture)


def _distance(centre: float, allowed: Range) -> float:
    low, high = allowed
    return max(low - centre, centre - high, 0.0)


def _log_mixture(distance: float, deviation: float, n: int, mixture: float) -> float:
    growth = 1.0 + n * mixture
    # t^2/nu; infinite for values without spread, for which the odds have a limit.
    root = math.inf if deviation == 0.0 else math.sqrt(n / (n - 1.0)) * distance / deviation
    squares = root * root
    if distance == 0.0:
        odds = 0.0
    elif math.isinf(squares):
        odds = math.log(growth)
    else:
        odds = math.log1p(squares) - math.log1p(squares / growth)
    return (n * odds - math.log(growth)) / 2.0


def log_e_value_of(p_value: float) -> float:
    """Natural log of what a p value is worth as evidence, where it was looked at once.

    The mean over k of the bets k p^(k - 1), (1 - p + p ln p)/(p ln(p)^2): its expectation is 1 where p is uniform
    (Vovk and Wang 2021). A p value of 0.01 is worth 4.5, one of 0.0001 118.
    """
    if not 0.0 <= p_value <= 1.0:
        raise ValueError(f"a p value lies between 0 and 1, not at {p_value}")
    p = max(p_value, 1e-300)
    if p > 0.999:
        # The limit at 1, where both sides of the fraction go to 0.
        return math.log(0.5)
    fall = math.log(p)
    return math.log((1.0 - p + p * fall) / fall**2) - fall


def false_discoveries_held(log_e_values: Sequence[float], alpha: float = 0.05) -> tuple[bool, ...]:
    """Which hypotheses the e-BH procedure rejects (Wang and Ramdas 2022), in the order given.

    Of all it rejects, the expected share of true ones is at most ``alpha``, however the e-values depend on each other.
    With K hypotheses the k largest are rejected for the greatest k whose k-th largest is K/(k alpha) or more.
    """
    count = len(log_e_values)
    largest_first = sorted(log_e_values, reverse=True)
    bars = [math.log(count / (rank * alpha)) for rank in range(1, count + 1)]
    passed = [bar for value, bar in zip(largest_first, bars, strict=True) if value >= bar]
    if not passed:
        return (False,) * count
    return tuple(value >= passed[-1] for value in log_e_values)
