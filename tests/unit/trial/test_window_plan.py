"""Which arm of an interleaved block has the load when."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pgclinic.errors import UsageError
from pgclinic.trial.window_plan import PlannedWindow, plan_windows


def planned(
    arms: str = "ab", warm_up_s: float = 2.0, measure_s: float = 10.0, guard_s: float = 0.1, seed: int = 7
) -> tuple[PlannedWindow, ...]:
    return plan_windows(tuple(arms), warm_up_s=warm_up_s, measure_s=measure_s, window_s=1.0, guard_s=guard_s, seed=seed)


def counted_s(window: PlannedWindow) -> float:
    return window.end_s - window.counts_from_s


@pytest.mark.parametrize("arms", ["ab", "abc", "abcd"])
@pytest.mark.parametrize("warm_up_s", [0.0, 2.0])
def test_windows_follow_each_other_and_count_as_long_as_each_arm_is_to_run(arms: str, warm_up_s: float) -> None:
    windows = planned(arms, warm_up_s)
    assert windows[0].begin_s == 0.0
    assert all(one.end_s == other.begin_s for one, other in pairwise(windows))
    long = planned(arms, warm_up_s, measure_s=61.0)
    assert all(one.end_s == other.begin_s for one, other in pairwise(long)), "the engine refuses windows that overlap"
    for arm in arms:
        own = [window for window in windows if window.arm == arm]
        assert sum(counted_s(window) for window in own) == pytest.approx(warm_up_s + 10.0)
        assert all(window.counts_from_s - window.begin_s == pytest.approx(0.1) for window in own)
        assert all(window.end_s - window.begin_s <= 1.0 + 1e-9 for window in own)


@pytest.mark.parametrize("seed", range(5))
def test_every_second_round_is_the_mirror_image_of_the_one_before(seed: int) -> None:
    windows = planned(warm_up_s=0.0, seed=seed)
    rounds = ["".join(window.arm for window in windows[at : at + 2]) for at in range(0, len(windows), 2)]
    assert len(rounds) % 2 == 0
    assert all(later == earlier[::-1] for earlier, later in zip(rounds[::2], rounds[1::2], strict=True))
    # A linear drift of the machine falls on both arms alike.
    middle = {arm: sum((w.counts_from_s + w.end_s) / 2 for w in windows if w.arm == arm) for arm in "ab"}
    assert middle["a"] == pytest.approx(middle["b"])


def test_the_seed_decides_who_begins() -> None:
    assert {planned(warm_up_s=0.0, seed=seed)[0].arm for seed in range(20)} == {"a", "b"}
    assert planned(seed=3) == planned(seed=3)


@pytest.mark.parametrize("guard_s", [-0.1, 1.0, 2.0])
def test_a_window_that_is_all_guard_is_refused(guard_s: float) -> None:
    with pytest.raises(UsageError, match="must be longer than its guard"):
        planned(guard_s=guard_s)
