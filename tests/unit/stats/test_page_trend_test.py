"""Page's L: printed critical values, brute force with ties, and evidence at any look."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pgclinic.stats import page_trend_test
from pgclinic.stats.page_trend_test import log_trend_e_value, mid_ranks, page_trend

#: The least L that is significant at 5 % and 1 %, by levels and blocks (Page 1963, table 2).
PRINTED = [
    (3, 3, 41, 42),
    (3, 4, 54, 55),
    (4, 2, 58, 60),
    (4, 3, 84, 87),
    (4, 4, 111, 114),
    (5, 3, 150, 155),
    (5, 4, 197, 204),
    (6, 2, 166, 173),
    (6, 3, 244, 252),
    (6, 4, 321, 331),
]


def tail_table(levels: int, blocks: int) -> dict[int, float]:
    """P(L >= l) from every order of one block, convolved: no shortcut of the code under test."""
    single: dict[int, int] = {}
    for order in itertools.permutations(range(1, levels + 1)):
        score = sum(j * r for j, r in enumerate(order, start=1))
        single[score] = single.get(score, 0) + 1
    total = {0: 1}
    for _ in range(blocks):
        following: dict[int, int] = {}
        for a, b in itertools.product(total, single):
            following[a + b] = following.get(a + b, 0) + total[a] * single[b]
        total = following
    all_orders = math.factorial(levels) ** blocks
    return {score: sum(count for value, count in total.items() if value >= score) / all_orders for score in total}


def blocks_with(levels: int, blocks: int, statistic: int) -> list[list[int]]:
    """Some blocks whose L is ``statistic``."""
    by_score = {
        sum(j * r for j, r in enumerate(order, start=1)): list(order)
        for order in itertools.permutations(range(1, levels + 1))
    }
    chosen: list[list[int]] = []
    left = statistic
    for remaining in range(blocks - 1, -1, -1):
        score = min(by_score, key=lambda value: abs(value - left / (remaining + 1)))
        chosen.append(by_score[score])
        left -= score
    assert left == 0
    return chosen


@pytest.mark.parametrize(("levels", "blocks", "five", "one"), PRINTED)
def test_printed_critical_values(levels: int, blocks: int, five: int, one: int) -> None:
    for alpha, critical in ((0.05, five), (0.01, one)):
        assert page_trend(blocks_with(levels, blocks, critical)).p_value <= alpha
        assert page_trend(blocks_with(levels, blocks, critical - 1)).p_value > alpha


@pytest.mark.parametrize(("levels", "blocks"), [(3, 2), (4, 2), (5, 2)])
def test_exact_p_values_are_those_of_brute_force(levels: int, blocks: int) -> None:
    table = tail_table(levels, blocks)
    rng = np.random.default_rng(levels)
    for _ in range(20):
        drawn = [[int(v) for v in rng.permutation(levels)] for _ in range(blocks)]
        trend = page_trend(drawn)
        assert trend.exact
        assert trend.p_value == pytest.approx(table[round(trend.statistic)], rel=1e-9)


def test_ties_share_their_rank_and_count_in_the_p_value() -> None:
    assert mid_ranks([5, 5, 1, 9]) == (2.5, 2.5, 1.0, 4.0)
    block = [1.0, 1.0, 2.0]
    orders = list(itertools.permutations((1.5, 1.5, 3.0)))
    score = 1.5 + 2 * 1.5 + 3 * 3.0
    expected = sum(sum(j * r for j, r in enumerate(o, start=1)) >= score for o in orders) / len(orders)
    assert page_trend([block]).p_value == pytest.approx(expected)


def test_blocks_that_are_all_equal_show_nothing() -> None:
    trend = page_trend([[7.0] * 5] * 4)
    assert trend.p_value == pytest.approx(1.0)
    assert trend.statistic == trend.expected
    assert log_trend_e_value([[7.0] * 5] * 4) == pytest.approx(0.0)


def test_direction() -> None:
    falling = [[9, 7, 6, 4], [8, 7, 5, 6], [9, 8, 4, 3]]
    assert page_trend(falling, -1).p_value < 0.01
    assert page_trend(falling, 1).p_value > 0.9
    turned = page_trend(falling, -1)
    assert turned.statistic > turned.expected, "the claimed direction is turned round before ranking"
    assert page_trend(falling, -1) == page_trend([[-value for value in block] for block in falling], 1)


def test_blocks_differ_in_level_without_harm() -> None:
    block = [3.0, 1.0, 2.0, 5.0]
    shifted = [[value + 1000 * index for value in block] for index in range(4)]
    assert page_trend(shifted).p_value == page_trend([block] * 4).p_value


def test_many_levels_take_the_normal_limit_and_it_is_close() -> None:
    rng = np.random.default_rng(3)
    levels = 12
    p_values = []
    for _ in range(800):
        trend = page_trend(rng.normal(size=(6, levels)).tolist())
        assert not trend.exact
        p_values.append(trend.p_value)
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.025)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.04)


def test_many_blocks_take_the_normal_limit_where_it_agrees_with_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = (np.random.default_rng(8).normal(size=(100, 4)) + 0.06 * np.arange(4)).tolist()
    exact = page_trend(drawn)
    monkeypatch.setattr(page_trend_test, "EXACT_BLOCKS_MAX", 99)
    normal = page_trend(drawn)
    assert exact.exact
    assert not normal.exact
    # No correction for continuity: the limit runs a little below.
    assert normal.p_value == pytest.approx(exact.p_value, rel=0.1)


@pytest.mark.parametrize("blocks", [[], [[1.0]], [[1.0, 2.0], [1.0]]])
def test_incomplete_blocks_are_refused(blocks: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"one block|every level"):
        page_trend(blocks)


def test_the_e_value_is_fair_without_a_trend() -> None:
    paid = [
        math.exp(log_trend_e_value([list(o) for o in orders]))
        for orders in itertools.product(itertools.permutations((1, 2, 3)), repeat=3)
    ]
    assert np.mean(paid) == pytest.approx(1.0, rel=1e-9), "exactly one, over all orders"


def test_the_e_value_finds_a_trend_at_any_look() -> None:
    rising = [[1, 2, 3, 4, 5, 6]] * 3
    assert log_trend_e_value(rising) > math.log(20)
    assert log_trend_e_value(rising, -1) < 0.0
    with pytest.raises(ValueError, match="9 levels or fewer"):
        log_trend_e_value([list(range(12))])
