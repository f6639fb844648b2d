"""Small choices of indexes against all sets that there are."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from pgclinic.advise.choice import ChoiceProblem, GainOption, chosen_indexes, greedy
from pgclinic.model.advise import AdviceLimits, ChosenBy

INDEXES = 5
SHARES = st.integers(0, 300).map(lambda value: value / 1000)
OPTIONS = st.builds(
    GainOption,
    query_id=st.integers(1, 4),
    indexes=st.frozensets(st.integers(0, INDEXES - 1), min_size=1, max_size=2),
    saved=SHARES,
)
PROBLEMS = st.builds(
    ChoiceProblem,
    sizes=st.tuples(*[st.integers(1, 10).map(lambda value: value * 1024)] * INDEXES),
    costs=st.tuples(*[st.integers(0, 40).map(lambda value: value / 1000)] * INDEXES),
    least=st.just((0.005,) * INDEXES),
    options=st.lists(OPTIONS, max_size=12).map(tuple),
)
LIMITS = st.builds(
    AdviceLimits,
    max_indexes=st.integers(1, INDEXES),
    max_size_bytes=st.integers(1, 40).map(lambda value: value * 1024),
    max_write_overhead=st.sampled_from((0.02, 0.05, 0.2)),
)


def worth(problem: ChoiceProblem, chosen: frozenset[int]) -> float:
    return problem.saved(chosen) - sum(problem.least[one] for one in chosen)


@settings(max_examples=60, deadline=None)
@given(problem=PROBLEMS, limits=LIMITS)
def test_the_solver_finds_the_best_set_and_the_greedy_method_none_better(
    problem: ChoiceProblem, limits: AdviceLimits
) -> None:
    sets = chain.from_iterable(combinations(range(INDEXES), size) for size in range(INDEXES + 1))
    best = max(worth(problem, frozenset(one)) for one in sets if problem.fits(one, limits))
    chosen, fast = chosen_indexes(problem, limits, by=ChosenBy.CP_SAT), greedy(problem, limits)
    assert problem.fits(chosen, limits)
    assert problem.fits(fast, limits)
    assert abs(worth(problem, chosen) - best) < 1e-6
    assert worth(problem, fast) <= best + 1e-9


@settings(max_examples=100, deadline=None)
@given(problem=PROBLEMS, limits=LIMITS)
def test_each_index_of_the_greedy_set_contributes(problem: ChoiceProblem, limits: AdviceLimits) -> None:
    chosen = greedy(problem, limits)
    for one in chosen:
        assert problem.saved(chosen) - problem.saved(chosen - {one}) >= problem.least[one] - 1e-9
