"""Which indexes are chosen: by CP-SAT, by the greedy method, and what limits do to either."""

from __future__ import annotations

import random

import pytest

from pgclinic.advise.choice import (
    AS_GOOD,
    MIN_SAVED,
    ChoiceProblem,
    GainOption,
    chosen_indexes,
    greedy,
    smaller_ones,
    solver,
)
from pgclinic.model.advise import AdviceLimits, ChosenBy

LIMITS = AdviceLimits(max_indexes=10)
BOTH = pytest.mark.parametrize("by", list(ChosenBy))
#: Two narrow indexes that each serve two statements, and a wide one that serves three of the four as well.
CROSSED = (
    GainOption(1, frozenset((0,)), 0.20),
    GainOption(2, frozenset((0,)), 0.10),
    GainOption(3, frozenset((1,)), 0.15),
    GainOption(1, frozenset((2,)), 0.18),
    GainOption(3, frozenset((2,)), 0.14),
)


def problem(
    options: tuple[GainOption, ...], costs: tuple[float, ...] = (0.0, 0.0, 0.0), sizes: tuple[int, ...] = (1, 1, 1)
) -> ChoiceProblem:
    return ChoiceProblem(sizes=sizes, costs=costs, least=(MIN_SAVED,) * len(costs), options=options)


def made_problem(indexes: int, statements: int, seed: int = 1) -> ChoiceProblem:
    drawn = random.Random(seed)
    options = []
    for query_id in range(statements):
        share = drawn.random() / statements
        for _ in range(drawn.randint(2, 12)):
            several = frozenset(drawn.randrange(indexes) for _ in range(drawn.randint(1, 2)))
            options.append(GainOption(query_id, several, share * drawn.random()))
    return ChoiceProblem(
        sizes=tuple(drawn.randint(10**6, 10**9) for _ in range(indexes)),
        costs=tuple(drawn.random() * 0.002 for _ in range(indexes)),
        least=(0.0005,) * indexes,
        options=tuple(options),
    )


def test_the_solver_is_there() -> None:
    assert solver() is ChosenBy.CP_SAT


@BOTH
def test_each_statement_takes_the_best_of_the_chosen_indexes(by: ChosenBy) -> None:
    asked = problem(CROSSED)
    assert chosen_indexes(asked, LIMITS, by=by) == {0, 1}
    assert asked.saved({0, 1}) == pytest.approx(0.45)
    assert asked.saved({0, 2}) == pytest.approx(0.44)
    assert asked.saved({1}) == pytest.approx(0.15)


@BOTH
def test_one_index_for_several_statements_wins_where_one_is_allowed(by: ChosenBy) -> None:
    assert chosen_indexes(problem(CROSSED), AdviceLimits(max_indexes=1), by=by) == {2}


@BOTH
def test_of_indexes_that_differ_by_noise_alone_the_smaller_one_is_chosen(by: ChosenBy) -> None:
    options = (
        GainOption(1, frozenset((0,)), 0.200),
        GainOption(2, frozenset((0,)), 0.100),
        GainOption(1, frozenset((1,)), 0.195),
        GainOption(2, frozenset((1,)), 0.097),
        GainOption(1, frozenset((2,)), 0.200),
        GainOption(2, frozenset((2,)), 0.080),
    )
    sizes = (900, 300, 100)
    # The smallest one loses a fifth of what the second statement saves.
    assert chosen_indexes(problem(options, sizes=sizes), LIMITS, by=by) == {1}
    assert chosen_indexes(problem(options, sizes=(300, 900, 100)), LIMITS, by=by) == {0}
    # Nor is a smaller one taken whose writes cost as much as an index has to save, or one that was refused.
    costs = (0.0, 2 * MIN_SAVED, 0.0)
    assert chosen_indexes(problem(options, costs, sizes), LIMITS, by=by) == {0}
    assert chosen_indexes(problem(options, sizes=sizes), LIMITS, [frozenset((1,))], by=by) == {0}


def test_smaller_indexes_keep_what_every_statement_saves() -> None:
    for seed in range(5):
        asked = made_problem(40, 30, seed)
        best = greedy(asked, LIMITS)
        smaller = smaller_ones(asked, best, LIMITS)
        assert len(smaller) == len(best)
        assert sum(asked.sizes[one] for one in smaller) <= sum(asked.sizes[one] for one in best)
        for options in asked.by_query.values():
            had = next((one.saved for one in options if one.indexes <= best), 0.0)
            assert next((one.saved for one in options if one.indexes <= smaller), 0.0) >= AS_GOOD * had


@BOTH
def test_an_index_that_saves_too_little_beyond_the_others_is_not_chosen(by: ChosenBy) -> None:
    options = (GainOption(1, frozenset((0,)), 0.2), GainOption(1, frozenset((1,)), 0.2 + MIN_SAVED / 2))
    chosen = chosen_indexes(problem((*options, GainOption(2, frozenset((2,)), MIN_SAVED / 2))), LIMITS, by=by)
    assert len(chosen) == 1
    assert 2 not in chosen


@BOTH
def test_what_an_index_costs_writes_is_subtracted(by: ChosenBy) -> None:
    asked = problem(CROSSED, costs=(0.31, 0.0, 0.0))
    unlimited = AdviceLimits(max_indexes=10, max_write_overhead=1.0)
    assert 0 not in chosen_indexes(asked, unlimited, by=by)


@BOTH
def test_limits_of_size_and_of_writes_hold(by: ChosenBy) -> None:
    large = problem(CROSSED, sizes=(3_000_000, 1_000_000, 1_000_000))
    assert chosen_indexes(large, AdviceLimits(max_indexes=10, max_size_bytes=1_999_999), by=by) == {2}
    dear = problem(CROSSED, costs=(0.06, 0.01, 0.01))
    assert 0 not in chosen_indexes(dear, LIMITS, by=by)


@BOTH
def test_two_indexes_that_only_help_together_are_found(by: ChosenBy) -> None:
    options = (GainOption(1, frozenset((0, 1)), 0.5), GainOption(2, frozenset((2,)), 0.1))
    assert chosen_indexes(problem(options), LIMITS, by=by) == {0, 1, 2}


@BOTH
def test_a_set_that_was_measured_is_not_chosen_again(by: ChosenBy) -> None:
    first = chosen_indexes(problem(CROSSED), LIMITS, by=by)
    second = chosen_indexes(problem(CROSSED), LIMITS, [first], by=by)
    assert second
    assert second != first


@BOTH
def test_nothing_is_chosen_where_nothing_is_saved(by: ChosenBy) -> None:
    assert chosen_indexes(problem((GainOption(1, frozenset((0,)), -0.1),)), LIMITS, by=by) == frozenset()
    assert chosen_indexes(ChoiceProblem((), (), (), ()), LIMITS, by=by) == frozenset()


def test_the_solver_beats_the_greedy_method_where_the_first_step_misleads() -> None:
    """One index is best alone; two others together serve all of its statements better."""
    options = (
        GainOption(1, frozenset((0,)), 0.20),
        GainOption(2, frozenset((0,)), 0.20),
        GainOption(1, frozenset((1,)), 0.30),
        GainOption(2, frozenset((2,)), 0.30),
    )
    two = AdviceLimits(max_indexes=2)
    asked = problem(options)
    assert chosen_indexes(asked, two, by=ChosenBy.CP_SAT) == {1, 2}
    assert asked.saved(greedy(asked, two)) < asked.saved({1, 2})


def test_500_candidates_and_300_statements_are_solved_within_the_limits() -> None:
    asked = made_problem(500, 300)
    chosen = chosen_indexes(asked, AdviceLimits(max_indexes=20), by=ChosenBy.CP_SAT)
    assert chosen
    assert asked.fits(chosen, AdviceLimits(max_indexes=20))
    assert asked.saved(chosen) >= asked.saved(greedy(asked, AdviceLimits(max_indexes=20))) - 1e-6
