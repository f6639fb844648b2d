"""Orders inside blocks: counterbalanced for any number of arms, random by the seed, found without the blocks before."""

from __future__ import annotations

from collections import Counter

import pytest

from pgclinic.stats.block_order import block_order, blocks_in_cycle, load_seed

ARMS = "abcdefg"


def orders(count: int, seed: int, blocks: int) -> list[tuple[str, ...]]:
    return [block_order(ARMS[:count], seed, block) for block in range(1, blocks + 1)]


@pytest.mark.parametrize("seed", range(30))
def test_two_arms_take_turns_in_every_two_blocks(seed: int) -> None:
    """Independent shuffles give four blocks one and the same order in one run of eight."""
    first = [order[0] for order in orders(2, seed, 8)]
    assert all({one, other} == {"a", "b"} for one, other in zip(first[::2], first[1::2], strict=True))


@pytest.mark.parametrize("count", range(2, 8))
def test_each_two_arms_run_in_either_order_equally_often(count: int) -> None:
    for seed in range(10):
        drawn = orders(count, seed, 4)
        for arm in ARMS[:count]:
            for other in ARMS[: ARMS.index(arm)]:
                assert sum(order.index(arm) < order.index(other) for order in drawn) == 2


@pytest.mark.parametrize("phase", [0, 1])
def test_a_wave_with_the_period_of_four_trials_cancels_in_every_four_blocks(phase: int) -> None:
    """Else both cycles meet it in one phase: all four blocks are off by the same amount in one run of two."""
    wave = [(1.0, 1.0, -1.0, -1.0)[(trial + phase) % 4] for trial in range(16)]
    for seed in range(40):
        ratios = []
        for block, order in enumerate(orders(2, seed, 8)):
            levels = dict(zip(order, wave[2 * block : 2 * block + 2], strict=True))
            ratios.append(levels["a"] - levels["b"])
        assert sum(ratios[:4]) == sum(ratios[4:]) == 0.0


@pytest.mark.parametrize("count", range(2, 8))
def test_a_cycle_is_balanced_for_positions_and_for_followers(count: int) -> None:
    drawn = orders(count, 3, blocks_in_cycle(count))
    positions = Counter((arm, at) for order in drawn for at, arm in enumerate(order))
    followers = Counter((order[at], order[at + 1]) for order in drawn for at in range(count - 1))
    assert len(positions) == count * count
    assert len(followers) == count * (count - 1)
    assert len(set(positions.values())) == len(set(followers.values())) == 1


def test_the_seed_draws_the_order() -> None:
    assert orders(3, 5, 12) == orders(3, 5, 12)
    assert len({tuple(orders(2, seed, 40)) for seed in range(200)}) > 100
    assert len({tuple(orders(4, seed, 4)) for seed in range(400)}) == 48, (
        "6 designs, 2 orders of their pairs, 4 of mirrors"
    )
    begins = Counter(orders(2, seed, 1)[0][0] for seed in range(400))
    assert 0.4 < begins["a"] / 400 < 0.6


def test_a_late_block_needs_none_before_it() -> None:
    assert block_order("ab", 7, 10**15) in {("a", "b"), ("b", "a")}
    assert load_seed(7, 10**15) != load_seed(7, 10**15 + 1)
    assert block_order("a", 7, 3) == ("a",)
