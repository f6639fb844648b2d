"""Ends a trial as soon as what it would still measure changes nothing: its rate lies on one side of another for sure.

After each second from the second one on, the exact Poisson limits of what was counted are widened by what the
seconds of such a load vary by: exp(2.33 cv sqrt(5.7 / t)), for a coefficient of variation ``cv`` of seconds that depend
on each other. At 0.4 statements a second a candidate that is ten times slower is settled after seconds.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.trial import Counted, Pruned, StopRule
from pgclinic.stats.poisson import poisson_limits

#: The rule looks once a second and may look often: one look errs in one case of a hundred.
ALPHA = 0.01
FIRST_LOOK_S = 2.0
_QUANTILE = 2.33
_CORRELATION_S = 5.7
#: From a count of so many on the normal limits of the square root are exact enough, and quick.
_MANY = 1000


class EarlyStop:
    """Told each second of the load, and asked by the engine whether to stop."""

    def __init__(self, rule: StopRule | None) -> None:
        self._rule = rule
        self._statements = self._transactions = 0
        self._measured_s = 0.0
        #: The bound at which the trial was stopped; None while it was not.
        self.pruned: Pruned | None = None

    def progress(self, progress: LoadProgress) -> None:
        if self._rule is None or progress.phase != "measure":
            return
        self._statements += progress.statements
        self._transactions += progress.transactions
        self._measured_s += progress.span_s
        if self.pruned is None:
            of_statements = self._rule.counted is Counted.STATEMENTS
            self.pruned = bound(self._rule, self._statements if of_statements else self._transactions, self._measured_s)

    def should_stop(self) -> bool:
        wanted = self._rule.transactions if self._rule is not None else None
        return self.pruned is not None or (wanted is not None and self._transactions >= wanted)


def bound(rule: StopRule, counted: int, measured_s: float) -> Pruned | None:
    """The limits of the rate if the reference lies outside of them, else None."""
    if rule.reference is None or measured_s < FIRST_LOOK_S:
        return None
    low, high = rate_limits(counted, measured_s, rule.variation)
    if low <= rule.reference <= high:
        return None
    return Pruned(rate_per_s=counted / measured_s, low=low, high=high, reference=rule.reference)


def rate_limits(counted: int, measured_s: float, variation: float) -> tuple[float, float]:
    """Limits of the rate a second behind a count: Poisson's, widened by how much seconds vary."""
    if counted < _MANY:
        low, high = poisson_limits(counted, ALPHA)
    else:
        root, half = math.sqrt(counted), NormalDist().inv_cdf(1 - ALPHA / 2) / 2
        low, high = (root - half) ** 2, (root + half) ** 2
    wider = math.exp(_QUANTILE * variation * math.sqrt(_CORRELATION_S / measured_s))
    return low / measured_s / wider, high / measured_s * wider
