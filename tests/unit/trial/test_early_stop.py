"""A trial ends early only when its count says on which side of another rate it lies."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.surrogate import poisson
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.trial import Counted, StopRule
from pgclinic.trial.early_stop import EarlyStop, bound, rate_limits


def second(statements: int, transactions: int = 0, phase: str = "measure") -> LoadProgress:
    return LoadProgress(
        phase=phase,
        second=0,
        transactions=transactions,
        failed=0,
        skipped=0,
        retries=0,
        tps=float(transactions),
        latency_us_mean=1.0,
        latency_us_p50=1,
        latency_us_p99=1,
        latency_us_max=1,
        clients_connected=1,
        clients=1,
        statements=statements,
    )


def stopped_after(rule: StopRule, counts: list[int]) -> int | None:
    """The second in which it stops, None where it runs to the end."""
    early = EarlyStop(rule)
    for at, count in enumerate(counts, start=1):
        early.progress(second(count))
        if early.should_stop():
            return at
    return None


def test_a_rate_ten_times_smaller_is_settled_at_the_first_look() -> None:
    assert stopped_after(StopRule(reference=100.0, variation=0.1), [10] * 20) == 2


def test_commits_are_held_against_commits() -> None:
    """Many statements whose transactions fail are settled as the few commits that they are."""
    early = EarlyStop(StopRule(reference=100.0, variation=0.1, counted=Counted.TRANSACTIONS))
    for _ in range(2):
        early.progress(second(1000, transactions=10))
    assert early.pruned is not None
    assert early.pruned.rate_per_s == 10.0
    assert early.pruned.high < 100.0


def test_a_rate_a_tenth_smaller_is_measured_to_the_end_if_seconds_vary_more() -> None:
    assert stopped_after(StopRule(reference=100.0, variation=0.3), [90] * 20) is None


def test_a_slow_server_needs_longer_for_a_smaller_step() -> None:
    """At 0.4 statements a second ten times slower is settled in seconds, twice as slow in half a minute."""
    none_at_all = stopped_after(StopRule(reference=4.0, variation=0.1), [0] * 30)
    half = stopped_after(StopRule(reference=0.4, variation=0.1), [0] * 60)
    assert none_at_all is not None and half is not None
    assert none_at_all <= 3 < half <= 20


def test_the_warm_up_does_not_count() -> None:
    early = EarlyStop(StopRule(reference=100.0))
    for _ in range(5):
        early.progress(second(0, phase="warm_up"))
    assert not early.should_stop()


def test_a_trial_may_end_with_its_first_commit() -> None:
    early = EarlyStop(StopRule(transactions=1))
    early.progress(second(20))
    assert not early.should_stop()
    early.progress(second(7, transactions=1))
    assert early.should_stop()
    assert early.pruned is None


def test_without_a_rule_nothing_ends() -> None:
    early = EarlyStop(None)
    early.progress(second(0))
    assert not early.should_stop()


@given(st.floats(0.5, 5000), st.floats(0.05, 0.3), st.integers(0, 2**32))
def test_limits_hold_the_rate(rate: float, variation: float, seed: int) -> None:
    draw = random.Random(seed)
    count = poisson(rate * 10, draw)
    low, high = rate_limits(count, 10.0, variation)
    assert 0 <= low <= count / 10.0 <= high
    assert math.isfinite(high)


@pytest.mark.parametrize("rate", [0.5, 20.0, 2000.0])
def test_equal_rates_are_seldom_called_different(rate: float) -> None:
    """Looked at every second for half a minute, with seconds that vary by as much as the rule is told."""
    wrong = 0
    for seed in range(100):
        draw = random.Random(f"{seed} {rate}")
        level = math.exp(draw.gauss(0.0, 0.05))
        counts = [poisson(rate * level * math.exp(draw.gauss(0.0, 0.1)), draw) for _ in range(30)]
        wrong += stopped_after(StopRule(reference=rate, variation=0.1), counts) is not None
    assert wrong <= 8


def test_the_bound_says_what_was_reached() -> None:
    found = bound(StopRule(reference=100.0, variation=0.1), 30, 3.0)
    assert found is not None
    assert found.low < 10.0 < found.high < found.reference == 100.0
    assert found.rate_per_s == 10.0
