"""Whether a load has become stable: the TPS of its last seconds neither drift nor jump. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.bench import Stability

WINDOW_S = 10
#: The halves of a stable window differ by less than this share of its mean, or by less than its noise explains.
DRIFT_MAX = 0.02
#: Above this standard deviation of the seconds, as a share of their mean, nothing is called stable.
SPREAD_MAX = 0.10


def is_stable(tps: Sequence[float], window_s: int = WINDOW_S) -> bool:
    """Whether the last ``window_s`` full seconds are stable."""
    if len(tps) < window_s:
        return False
    window = tps[-window_s:]
    mean, spread = _mean(window), _spread(window)
    if mean <= 0 or spread > SPREAD_MAX:
        return False
    half = window_s // 2
    drift = abs(_mean(window[half:]) - _mean(window[:half])) / mean
    # Two means of half a window each: their difference has this standard error when nothing drifts.
    noise = spread * math.sqrt(2 / half)
    return drift <= max(DRIFT_MAX, noise) and drift <= 2 * DRIFT_MAX


def describe_stability(tps: Sequence[float], window_s: int = WINDOW_S) -> Stability:
    """The first moment at which the load was stable, and its TPS over the window that ended there.

    Without one, the TPS of the last window.
    """
    for end in range(window_s, len(tps) + 1):
        if is_stable(tps[:end], window_s):
            window = tps[end - window_s : end]
            return Stability(stable_after_s=end, window_s=window_s, tps=_mean(window), spread=_spread(window))
    window = tps[-window_s:]
    return Stability(stable_after_s=None, window_s=len(window), tps=_mean(window), spread=_spread(window))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _spread(values: Sequence[float]) -> float:
    """Standard deviation as a share of the mean."""
    mean = _mean(values)
    if mean <= 0 or len(values) < 2:
        return 0.0
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean
