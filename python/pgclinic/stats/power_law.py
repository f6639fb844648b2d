"""How a quantity grows with the size of a database: y = a * size ** b, fitted to a few sizes with several values each.

The regression is that of random-effects meta-analysis on logarithms: what a size deviates from the line has two parts,
the values that were drawn there (variance of their mean, by the delta method) and a deviation of the size itself, such
as one more level of a B-tree. The second is estimated by the method of Paule and Mandel (1982), the interval is that of
Knapp and Hartung (Statistics in Medicine 22, 2003) with Student's t; their factor is never below 1 (Jackson et al.,
Statistics in Medicine 36, 2017). A size that lies apart therefore has the weight of the others at most, and widens the
interval.

Beyond the largest size the line y = c + d * size is asked too, if it fits as well: a statement with a fixed part bends
upwards on logarithmic axes. The interval then has the predictions of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pgclinic.stats.student_t import quantile

CONFIDENCE = 0.95
#: What means of two or three values say of their own variance is little: none is taken for more exact than this.
NOISE_MIN = 0.01
#: How far sizes deviate where too few laws are known: a tenth, and never less than a hundredth.
_UNSEEN_DEVIATION, _DEVIATION_MIN = 0.1, 0.01
#: The common deviation counts for so many sizes, and is asked from so many laws on.
_COMMON_FREEDOM, _LAWS_MIN = 2.0, 5
_STEPS = 200
#: A line with a fixed part fits as well if its squared deviations are at most so many times those of the power law.
_AS_WELL = 4.0
_EXACT = 1e-9


@dataclass(frozen=True)
class SizePoint:
    """The values that were measured at one size; all above 0. ``noise`` is the relative error of one measurement."""

    size: float
    values: tuple[float, ...]
    noise: float = NOISE_MIN

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def log_variance(self) -> float:
        """Of the logarithm of the mean."""
        count = len(self.values)
        floor = self.noise**2
        if count < 2:
            return floor
        spread = sum((value - self.mean) ** 2 for value in self.values) / (count - 1)
        return max(spread / count / self.mean**2, floor)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % CI."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PowerLaw:
    """A fitted law. ``deviation`` is the variance of a size's own deviation, on logarithms; ``own_deviation`` the same
    from its own sizes alone, None of two.

    ``sizes`` are those it was fitted to, in ascending order; ``line`` is (c, d) of the line with a fixed part where
    that fits as well, else None.
    """

    intercept: float
    slope: float
    slope_error: float
    covariance: tuple[float, float, float]
    own_deviation: float | None
    deviation: float
    freedom: float
    sizes: tuple[float, ...]
    line: tuple[float, float] | None

    @property
    def exponent(self) -> Estimate:
        half = self._t * self.slope_error
        return Estimate(self.slope, self.slope - half, self.slope + half)

    @property
    def _t(self) -> float:
        return quantile(0.5 + CONFIDENCE / 2, self.freedom)

    def value_at(self, size: float) -> float:
        return math.exp(self.intercept + self.slope * math.log(size))

    def growth(self, to: float, since: float = 1.0) -> Estimate:
        """y at ``to`` in place of 1 at ``since``.

        Within the sizes it is the fit; beyond the largest one a new size has a deviation of its own, and the line with
        a fixed part is asked too.
        """
        x0, x1 = math.log(since), math.log(to)
        distance = x1 - x0
        beyond = to > self.sizes[-1] * (1 + _EXACT) or since < self.sizes[0] * (1 - _EXACT)
        variance = distance * distance * self.covariance[2] + (self.deviation if beyond and distance else 0.0)
        half = self._t * math.sqrt(variance)
        middle = self.slope * distance
        ratios = [math.exp(middle - half), math.exp(middle + half)]
        if beyond and self.line is not None:
            fixed, each = self.line
            ratios.append((fixed + each * to) / (fixed + each * since))
        return Estimate(math.exp(middle), min(ratios), max(ratios))


def common_deviation(laws: Iterable[PowerLaw]) -> float:
    """The variance of a size's own deviation that statements of the same workload have, on logarithms: the median."""
    known = sorted(law.own_deviation for law in laws if law.own_deviation is not None)
    if len(known) < _LAWS_MIN:
        return _UNSEEN_DEVIATION**2
    return max(known[len(known) // 2], _DEVIATION_MIN**2)


def power_law(points: Sequence[SizePoint], common: float = _UNSEEN_DEVIATION**2) -> PowerLaw:
    """The law of two sizes or more; ``common`` is the ``common_deviation`` of laws like it.

    Raises ValueError for fewer sizes, or for a value that is not above 0.
    """
    ordered = sorted(points, key=lambda point: point.size)
    if len({point.size for point in ordered}) < 2:
        raise ValueError("a law needs two sizes")
    if any(value <= 0 for point in ordered for value in point.values):
        raise ValueError("a power law has no values of 0 or below")
    x = [math.log(point.size) for point in ordered]
    y = [math.log(point.mean) for point in ordered]
    within = [point.log_variance for point in ordered]
    freedom = len(ordered) - 2
    own = _deviation(x, y, within) if freedom else None
    deviation = (_COMMON_FREEDOM * common + freedom * (own or 0.0)) / (_COMMON_FREEDOM + freedom)
    weights = [1.0 / (variance + deviation) for variance in within]
    intercept, slope, covariance = _fitted(x, y, weights)
    left = sum(weight * (b - intercept - slope * a) ** 2 for weight, a, b in zip(weights, x, y, strict=True))
    factor = max(1.0, left / freedom) if freedom else 1.0
    scaled = (covariance[0] * factor, covariance[1] * factor, covariance[2] * factor)
    return PowerLaw(
        intercept=intercept,
        slope=slope,
        slope_error=math.sqrt(scaled[2]),
        covariance=scaled,
        own_deviation=own,
        deviation=deviation,
        freedom=_COMMON_FREEDOM + freedom,
        sizes=tuple(point.size for point in ordered),
        line=_line_that_fits(ordered, weights, left),
    )


def _fitted(
    x: Sequence[float], y: Sequence[float], weights: Sequence[float]
) -> tuple[float, float, tuple[float, float, float]]:
    """Intercept, slope, and their variances and covariance: (of the intercept, of both, of the slope)."""
    whole = sum(weights)
    x_mean = sum(weight * a for weight, a in zip(weights, x, strict=True)) / whole
    y_mean = sum(weight * b for weight, b in zip(weights, y, strict=True)) / whole
    spread = sum(weight * (a - x_mean) ** 2 for weight, a in zip(weights, x, strict=True))
    both = sum(weight * (a - x_mean) * (b - y_mean) for weight, a, b in zip(weights, x, y, strict=True))
    slope = both / spread
    return y_mean - slope * x_mean, slope, (1.0 / whole + x_mean**2 / spread, -x_mean / spread, 1.0 / spread)


def _left(x: Sequence[float], y: Sequence[float], within: Sequence[float], deviation: float) -> float:
    weights = [1.0 / (variance + deviation) for variance in within]
    intercept, slope, _ = _fitted(x, y, weights)
    return sum(weight * (b - intercept - slope * a) ** 2 for weight, a, b in zip(weights, x, y, strict=True))


def _deviation(x: Sequence[float], y: Sequence[float], within: Sequence[float]) -> float:
    """The variance with which the weighted squares are as many as the degrees of freedom; 0 where they are fewer."""
    freedom = len(x) - 2
    if _left(x, y, within, 0.0) <= freedom:
        return 0.0
    low, high = 0.0, 1.0
    while _left(x, y, within, high) > freedom:
        high *= 2.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _left(x, y, within, middle) > freedom:
            low = middle
        else:
            high = middle
    return high


def _line_that_fits(ordered: Sequence[SizePoint], weights: Sequence[float], left: float) -> tuple[float, float] | None:
    """c and d of y = c + d * size, neither below 0, by relative least squares; None where it fits worse."""
    if len(ordered) < 3:
        return None
    relative = [weight / point.mean**2 for weight, point in zip(weights, ordered, strict=True)]
    fixed, each, _ = _fitted([point.size for point in ordered], [point.mean for point in ordered], relative)
    if fixed < 0 or each < 0:
        return None
    made = [fixed + each * point.size for point in ordered]
    line_left = sum(
        weight * (math.log(point.mean) - math.log(value)) ** 2
        for weight, point, value in zip(weights, ordered, made, strict=True)
    )
    return (fixed, each) if line_left <= max(_AS_WELL * left, len(ordered) - 2.0) else None
