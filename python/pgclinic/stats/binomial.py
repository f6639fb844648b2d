"""Exact limits of a share: Clopper and Pearson (1934)."""

from __future__ import annotations

from collections.abc import Callable

from pgclinic.stats.student_t import incomplete_beta

_HALVINGS = 60


def share_limits(events: int, trials: int, alpha: float = 0.05) -> tuple[float, float]:
    """The 1 - ``alpha`` limits of the probability of an event of which ``trials`` had ``events``.

    Raises ValueError for no trials, or more events than trials.
    """
    if not 0 <= events <= trials or trials == 0:
        raise ValueError(f"{events} of {trials} is not a share")
    # P(at least k of n) = I_p(k, n - k + 1); each limit leaves alpha/2 beyond it.
    low = _root(lambda p: incomplete_beta(events, trials - events + 1, p) - alpha / 2.0) if events else 0.0
    if events == trials:
        return low, 1.0
    return low, _root(lambda p: incomplete_beta(events + 1, trials - events, p) - (1.0 - alpha / 2.0))


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
