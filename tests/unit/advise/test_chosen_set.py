"""The set is measured together and chosen again; single indexes promise more than they keep together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pytest

from fixtures.advised import SEEN, index
from pgclinic.advise.choice import GainOption
from pgclinic.advise.chosen_set import ROUNDS_MAX, MeasuredSet, choose_and_measure, steps
from pgclinic.advise.measurement import WeighedStatement
from pgclinic.advise.tried_candidates import TriedCandidates
from pgclinic.model.advise import AdviceLimits, ChosenBy, IndexDefinition, WriteCost
from pgclinic.whatif.index_trial import BuiltIndex, IndexTrial, SeenStatement

A, B, C = (index(name, name=name) for name in "abc")
LIMITS = AdviceLimits(max_indexes=10)
#: Two statements, each with half of the time.
WEIGHED = {key: WeighedStatement(key, "select", 0.5, 10.0) for key in (1, 2)}
#: The part of its time that each statement takes, and by which index, if these are there.
Times = Callable[[frozenset[str]], Mapping[int, tuple[float, str]]]


class Trial:
    """Statements take what ``times`` says; remembers the sets that were built."""

    def __init__(self, times: Times) -> None:
        self.times, self.sets = times, list[tuple[str, ...]]()

    def as_it_is(self) -> dict[int, SeenStatement]:
        return dict.fromkeys(WEIGHED, SEEN)

    @contextmanager
    def built(self, indexes: Sequence[IndexDefinition]) -> Iterator[Built]:
        self.sets.append(tuple(one.name for one in indexes))
        yield Built(self.times, indexes)


class Built:
    """All of them are there."""

    def __init__(self, times: Times, indexes: Sequence[IndexDefinition]) -> None:
        self.times = times
        self.made = {one: BuiltIndex(one) for one in indexes}

    def seen(
        self,
        kept: Sequence[IndexDefinition] | None = None,
        without: Sequence[str] = (),
        like: Mapping[int, SeenStatement] | None = None,
    ) -> dict[int, SeenStatement]:
        names = frozenset(one.name for one in (self.made if kept is None else kept))
        found = dict.fromkeys(WEIGHED, SEEN)
        for key, (part, used) in self.times(names).items():
            found[key] = replace(
                SEEN, signature=(f"{used} 1", f"{used} 2"), used=frozenset((used,)), times_ms=(4.0 * part, 6.0 * part)
            )
        return found


def tried(*options: tuple[int, IndexDefinition, float]) -> TriedCandidates:
    indexes = [A, B, C]
    return TriedCandidates(
        built=[BuiltIndex(one, size_bytes=1, table_bytes=10**9) for one in indexes],
        costs=[WriteCost()] * 3,
        lost=[0.0] * 3,
        options=[GainOption(key, frozenset((indexes.index(one),)), saved) for key, one, saved in options],
        tried=3,
    )


def chosen(trial: Trial, found: TriedCandidates, by: ChosenBy = ChosenBy.GREEDY) -> MeasuredSet:
    return choose_and_measure(cast("IndexTrial", trial), found, WEIGHED, LIMITS, by)


def names(found: MeasuredSet) -> set[str]:
    return {one.name for one in found.indexes}


def test_what_keeps_its_promise_is_measured_once() -> None:
    trial = Trial(lambda there: {1: (0.1, "a")} if "a" in there else {})
    found = chosen(trial, tried((1, A, 0.45)))
    assert names(found) == {"a"}
    assert found.saved == pytest.approx(0.45)
    assert found.parts == {A: pytest.approx(0.45)}
    assert (found.rounds, trial.sets) == (1, [("a",)])


def test_an_index_that_the_others_can_do_without_is_left_out() -> None:
    """Each alone looks worth it for another statement, but one serves both."""

    def times(there: frozenset[str]) -> dict[int, tuple[float, str]]:
        return {1: (0.2, "a"), 2: (0.2, "a")} if "a" in there else {2: (0.2, "b")} if "b" in there else {}

    found = chosen(Trial(times), tried((1, A, 0.4), (2, B, 0.4)))
    assert names(found) == {"a"}
    assert found.saved == pytest.approx(0.8)


def test_where_the_planner_takes_a_worse_index_of_two_another_set_is_chosen() -> None:
    """Together the planner prefers b, with which the statement is as slow as before."""

    def times(there: frozenset[str]) -> dict[int, tuple[float, str]]:
        if "a" in there and "b" in there:
            return {1: (1.0, "b"), 2: (0.5, "b")}
        return {1: (0.1, "a")} if "a" in there else {2: (0.5, "b")} if "b" in there else {}

    trial = Trial(times)
    found = chosen(trial, tried((1, A, 0.45), (2, B, 0.25)))
    assert set(trial.sets[0]) == {"a", "b"}
    assert found.saved == pytest.approx(0.45)
    assert names(found) == {"a"}


@pytest.mark.parametrize("by", list(ChosenBy))
def test_the_search_ends_where_no_set_keeps_its_promise(by: ChosenBy) -> None:
    trial = Trial(lambda _: {})
    found = chosen(trial, tried((1, A, 0.4), (1, B, 0.3), (2, C, 0.4)), by)
    assert found.indexes == ()
    assert len(trial.sets) == found.rounds <= ROUNDS_MAX
    assert len(set(trial.sets)) == len(trial.sets)


def test_nothing_is_built_where_nothing_is_saved() -> None:
    trial = Trial(lambda _: {})
    assert (chosen(trial, tried()), trial.sets) == (MeasuredSet(), [])


def test_each_number_of_indexes_has_its_best_set() -> None:
    found = steps(tried((1, A, 0.4), (2, B, 0.3), (2, C, 0.304)), LIMITS, ChosenBy.GREEDY, 2)
    assert [one.indexes for one in found] == [1, 2]
    assert [one.saved_share for one in found] == pytest.approx([0.4, 0.704])
