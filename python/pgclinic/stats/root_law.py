"""The law by which updates slow down under a held horizon, fitted to a counter. Pure.

Every update leaves one version N behind, and every look-up walks all of them: its buffer hits are a + b N. One curve of
TPS cannot tell this law from others; the counter can. What an update costs is then calibrated once, A + B N seconds of
all clients together, and dN/dt = 1 / (A + B N) gives TPS(t) = T0 / sqrt(1 + t / tau), T0 = 1 / A, tau = A^2 / (2 B).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

from pgclinic.stats.summary import mean

#: By how much more a hit costs that memory must serve than one that a cache serves: benches/price_of_a_hit.py.
MEMORY_SURCHARGE = 1.6

#: The sum over versions has so many steps.
_STEPS = 500


@dataclass(frozen=True)
class FittedLine:
    """y = ``at_zero`` + ``slope`` x; ``r_squared`` is the share of the variance of y that it explains."""

    at_zero: float
    slope: float
    r_squared: float


@dataclass(frozen=True)
class RootLaw:
    """``hits`` are buffer hits of an update by versions left behind; ``tau_s`` is None where nothing slows down.

    ``tps_at_start`` is the rate with no version left behind. ``prices`` are what an update cost in the cheapest and in
    the dearest tenth of the stretches, as ratios to what the law says of them.
    """

    hits: FittedLine
    tps_at_start: float
    tau_s: float | None
    prices: tuple[float, float] = (1.0, 1.0)

    def tps_at(self, seconds: float, price: float = 1.0) -> float:
        """The rate after a hold of so many seconds under full load, where a hit costs ``price`` times as much."""
        return self.tps_at_start / math.sqrt(1.0 + price * seconds / self.tau_s) if self.tau_s else self.tps_at_start

    def tps_beyond_cache(self, seconds: float, versions_cached: float) -> float:
        """The same where only so many versions fit into the processor's caches: hits on the others cost more."""
        if not self.tau_s:
            return self.tps_at_start
        at_zero = 1.0 / self.tps_at_start
        per_version = at_zero**2 / (2.0 * self.tau_s)
        # Dearer hits leave fewer versions behind than the plain law, never more.
        step = self.versions_at(seconds) / _STEPS
        cost_s, passed_s = at_zero, 0.0
        for number in range(_STEPS):
            middle = (number + 0.5) * step
            price = 1.0 + MEMORY_SURCHARGE * max(0.0, 1.0 - versions_cached / middle)
            cost_s = at_zero + per_version * price * middle
            passed_s += cost_s * step
            if passed_s >= seconds:
                break
        return 1.0 / cost_s

    def versions_at(self, seconds: float) -> float:
        """How many versions a hold of so many seconds leaves behind."""
        if not self.tau_s:
            return self.tps_at_start * seconds
        return 2.0 * self.tps_at_start * self.tau_s * (math.sqrt(1.0 + seconds / self.tau_s) - 1.0)

    @property
    def halved_after_s(self) -> float | None:
        return 3.0 * self.tau_s if self.tau_s else None


def fit_line(x: Sequence[float], y: Sequence[float]) -> FittedLine:
    """Least squares. Raises ValueError without two different x."""
    slope, at_zero = linear_regression(x, y)
    centre = mean(y)
    total = math.fsum((value - centre) ** 2 for value in y)
    rest = math.fsum((value - at_zero - slope * place) ** 2 for place, value in zip(x, y, strict=True))
    return FittedLine(at_zero=at_zero, slope=slope, r_squared=1.0 - rest / total if total > 0 else 1.0)


def fit_root_law(versions: Sequence[float], hits: Sequence[float], tps: Sequence[float]) -> RootLaw | None:
    """One entry a stretch of time: versions left behind by its middle, hits per update and TPS in it.

    None where the counter does not grow, or where what an update costs has nothing to do with it.
    """
    by_versions = fit_line(versions, hits)
    cost = fit_line(hits, [1.0 / value for value in tps])
    at_start = cost.at_zero + cost.slope * by_versions.at_zero
    if by_versions.slope <= 0 or cost.slope <= 0 or at_start <= 0:
        return None
    per_version = cost.slope * by_versions.slope
    told = [(rate, cost.at_zero + cost.slope * seen) for rate, seen in zip(tps, hits, strict=True)]
    # Below the first version a steep line may reach nothing, and no price is a multiple of that.
    paid = sorted(1.0 / (rate * by_law) for rate, by_law in told if by_law > 0) or [1.0]
    tenth = min(max(1, len(paid) // 10), (len(paid) - 1) // 2)
    return RootLaw(
        hits=by_versions,
        tps_at_start=1.0 / at_start,
        tau_s=at_start**2 / (2.0 * per_version),
        prices=(paid[tenth], paid[-1 - tenth]),
    )
