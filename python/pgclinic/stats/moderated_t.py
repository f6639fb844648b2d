"""Many paired differences at one level: t tests that share what they know of their spread, and Holm's step-down.

A handful of blocks tells little of the spread of one statement, and that of thirty in the same blocks tells much. After
Smyth (2004), Linear models and empirical Bayes methods: the variances are taken as draws around a common one, which
has as many degrees of freedom as they agree; each is moved towards it by that weight. Where they have nothing in common
the weight is 0, and the test is Student's. Holm (1979): whatever depends on what, the chance that anything is called
different that is not stays below the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.student_t import upper_tail
from pgclinic.stats.summary import mean, standard_deviation

#: Variances that agree because they share the blocks' noise agree more than they know: the common one counts for no
#: more than so many times the degrees of freedom of a single one.
COMMON_MAX = 2.0
#: From so many variances on their agreement can be told from chance.
VARIANCES_MIN = 12
#: Below the least spread that is told from none.
_NONE = 1e-24


def p_values(items: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Two-sided, of "its mean is 0" for each item; all have the same number of values, 1 below two of them.

    Valid where the number of values was fixed beforehand.
    """
    size = len(items[0]) if items else 0
    if size < 2:
        return (1.0,) * len(items)
    variances = [standard_deviation(values) ** 2 for values in items]
    freedom = size - 1
    common, weight = _common([one for one in variances if one > _NONE], freedom)
    return tuple(
        _p_value(mean(values), variance, size, common, weight)
        for values, variance in zip(items, variances, strict=True)
    )


def _p_value(centre: float, variance: float, size: int, common: float, weight: float) -> float:
    freedom = size - 1
    # What does not vary at all has nothing to learn from others.
    moved = (weight * common + freedom * variance) / (weight + freedom) if variance > _NONE else variance
    if moved <= _NONE:
        return 0.0 if centre else 1.0
    return 2.0 * upper_tail(abs(centre) / math.sqrt(moved / size), freedom + weight)


def _common(variances: Sequence[float], freedom: int) -> tuple[float, float]:
    """The common variance and its degrees of freedom, 0 where there is none.

    Smyth's estimate by moments: the logarithms of sample variances have the mean ln s² + ψ(d/2) - ln(d/2) - ψ(d₀/2) +
    ln(d₀/2) and the variance ψ'(d/2) + ψ'(d₀/2).
    """
    if len(variances) < VARIANCES_MIN:
        return 0.0, 0.0
    logs = [math.log(variance) - digamma(freedom / 2.0) + math.log(freedom / 2.0) for variance in variances]
    # Its upper limit: to believe that variances agree when they do not is the costly error.
    spread = standard_deviation(logs) ** 2 * (1.0 + 2.0 * math.sqrt(2.0 / (len(logs) - 1)))
    beyond = spread - trigamma(freedom / 2.0)
    most = COMMON_MAX * freedom
    weight = most if beyond <= trigamma(most / 2.0) else _inverse_trigamma(beyond, most / 2.0) * 2.0
    return math.exp(mean(logs) + digamma(weight / 2.0) - math.log(weight / 2.0)), weight


def _inverse_trigamma(wanted: float, most: float) -> float:
    """By bisection; ψ' falls from infinity."""
    low, high = 1e-6, most
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > wanted else (low, middle)
    return math.sqrt(low * high)


def digamma(x: float) -> float:
    """ψ(x) for x > 0: upwards by DLMF 5.5.2, then the asymptotic series DLMF 5.11.2."""
    total = 0.0
    while x < 8.0:
        total -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    return total + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))


def trigamma(x: float) -> float:
    """ψ'(x) for x > 0, the derivative of the same."""
    total = 0.0
    while x < 8.0:
        total += 1.0 / (x * x)
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return total + (1.0 + 0.5 / x + series) / x


def holm(p_values: Sequence[float], alpha: float) -> tuple[bool, ...]:
    """Which hypotheses fall, in the order given, when the chance that any true one does is to be ``alpha`` at most."""
    fallen = [False] * len(p_values)
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[at] > alpha / (len(p_values) - rank):
            break
        fallen[at] = True
    return tuple(fallen)
