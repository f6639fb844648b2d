"""The search for the highest rate, against servers that are only arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from fixtures.records import load_result
from pgclinic.bench.find_rate import TRIALS_MAX, RateSearch
from pgclinic.bench.run import missed
from pgclinic.bench.stability import describe_stability, is_stable
from pgclinic.judge.thresholds import parse_threshold
from pgclinic.model.bench import RateSearchResult

TARGET = parse_threshold("p99<20ms", "--find-rate")


def queue_ms(capacity_tps: float) -> Callable[[float], float]:
    """p99 of a simple queue: it grows without bound towards the capacity."""
    return lambda rate: 1000 * 4.6 / (capacity_tps - rate) if rate < capacity_tps else 10_000.0


def search(server: Callable[[float], float], *, first: float, ceiling: float) -> RateSearchResult:
    found = RateSearch(TARGET, first_tps=first, ceiling_tps=ceiling)
    while (rate := found.next_rate()) is not None:
        value = server(rate)
        found.tell(rate, served_tps=rate, measured=value, why="" if value < TARGET.bound else f"p99 {value:.0f}")
    return found.result()


@pytest.mark.parametrize("capacity", [300.0, 1000.0, 9_412.0, 250_000.0])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_it_finds_the_highest_rate_within_its_gap(capacity: float, share: float) -> None:
    truth = capacity - 1000 * 4.6 / TARGET.bound
    result = search(queue_ms(capacity), first=capacity * share, ceiling=capacity * 1.1)
    assert result.rate_tps is not None
    assert truth / 1.07 <= result.rate_tps <= truth
    assert result.limited == "target"
    assert result.trials[-1].stage == "confirm"
    assert len(result.trials) <= 20


def test_a_server_that_never_keeps_the_target_ends_the_search() -> None:
    result = search(lambda _: 500.0, first=800.0, ceiling=2000.0)
    assert result.rate_tps is None
    assert not any(trial.kept for trial in result.trials)
    assert min(trial.rate_tps for trial in result.trials) <= 2


def test_a_server_that_always_keeps_it_is_tried_up_to_the_ceiling_and_no_further() -> None:
    result = search(lambda _: 1.0, first=100.0, ceiling=1100.0)
    assert result.rate_tps == 1100.0
    assert result.limited == "ceiling"
    assert max(trial.rate_tps for trial in result.trials) == 1100.0


def test_luck_is_not_confirmed() -> None:
    """A rate that keeps the target once and never again is not the answer."""
    seen: dict[float, int] = {}

    def lucky(rate: float) -> float:
        seen[rate] = seen.get(rate, 0) + 1
        return 5.0 if rate <= 400 or (seen[rate] == 1 and rate <= 600) else 50.0

    result = search(lucky, first=300.0, ceiling=5000.0)
    assert result.rate_tps is not None
    assert result.rate_tps <= 400
    assert [trial.kept for trial in result.trials if trial.stage == "confirm"].count(False) >= 1


def test_noise_never_makes_it_run_for_ever() -> None:
    dice = random.Random(7)
    for _ in range(200):
        result = search(lambda _: dice.choice([5.0, 50.0]), first=dice.uniform(1, 1e5), ceiling=1e6)
        assert len(result.trials) <= TRIALS_MAX


def test_a_rate_that_is_not_served_is_not_kept() -> None:
    load = load_result([100.0] * 3)
    assert missed(TARGET, 5.0, load) == ""
    assert missed(TARGET, 25.0, load) == "p99 25 ms"
    assert missed(TARGET, None, load) == "nothing was served"
    from msgspec.structs import replace

    assert missed(TARGET, 5.0, replace(load, offered=400, unserved=100)) == "25.0% unserved"
    assert missed(TARGET, 5.0, replace(load, failed=30)) == "9.1% failed"


def test_a_steady_load_is_stable_and_a_drifting_one_is_not() -> None:
    dice = random.Random(1)
    steady = [1000 + dice.gauss(0, 15) for _ in range(30)]
    assert is_stable([1000.0] * 10)
    assert not is_stable([1000.0] * 9)
    assert describe_stability(steady).stable_after_s is not None
    assert not any(is_stable([1000 - 20.0 * at for at in range(end)]) for end in range(30))
    assert not is_stable([1000.0, 100.0] * 5)
    assert not is_stable([0.0] * 12)


def test_the_start_of_a_load_does_not_count_against_it() -> None:
    tps = [100.0, 300.0, 600.0, 900.0] + [1000.0] * 12
    found = describe_stability(tps)
    assert found.stable_after_s is not None and found.stable_after_s >= 13
    assert found.tps == pytest.approx(1000, rel=0.02)
    assert describe_stability(tps[:8]).stable_after_s is None


def test_it_never_goes_below_the_rate_that_still_shows_something() -> None:
    search = RateSearch(parse_threshold("p99<20ms", "--find-rate"), first_tps=100, ceiling_tps=220, lowest_tps=10)
    rates = []
    while (rate := search.next_rate()) is not None:
        rates.append(rate)
        search.tell(rate, served_tps=rate, measured=50.0, why="p99 50")
    assert rates == [100, 50, 25, 12.5]
    assert search.result().rate_tps is None
