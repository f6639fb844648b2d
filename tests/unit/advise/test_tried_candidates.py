"""Each candidate by itself, then all of a table together; what no plan uses is not executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pytest

from fixtures.advised import SEEN, calibrated_of, index, twin_of
from pgclinic.advise.candidates import Candidate
from pgclinic.advise.hot_updates import HotUpdates
from pgclinic.advise.measurement import WeighedStatement
from pgclinic.advise.tried_candidates import TriedCandidates, try_candidates
from pgclinic.model.advise import IndexDefinition
from pgclinic.whatif.index_trial import BuiltIndex, IndexTrial, SeenStatement

READ, INSERT = WeighedStatement(1, "select", 0.6, 10.0), WeighedStatement(2, "insert", 0.2, 100.0)
FAST, ALSO, USELESS = (index(name, name=name) for name in ("fast", "also", "useless"))
WRITE = replace(SEEN, target="orders", times_ms=(1.0, 1.0), buffers=(10.0, 10.0), wal_bytes=(100.0, 100.0))
HOT = HotUpdates(twin_of(), calibrated_of(twin_of()))


class Trial:
    """A read that two of the indexes serve, and an insert that each makes slower; every state that was executed."""

    def __init__(self) -> None:
        self.states: list[tuple[str, ...]] = []
        self.batches: list[tuple[str, ...]] = []

    def as_it_is(self) -> dict[int, SeenStatement]:
        return {1: SEEN, 2: WRITE}

    @contextmanager
    def built(self, indexes: Sequence[IndexDefinition]) -> Iterator[Built]:
        self.batches.append(tuple(one.name for one in indexes))
        yield Built(self, indexes)


class Built:
    def __init__(self, trial: Trial, indexes: Sequence[IndexDefinition]) -> None:
        self.trial = trial
        self.made = {one: BuiltIndex(one, size_bytes=1_000, table_bytes=100_000) for one in indexes}

    def used(self, kept: Sequence[IndexDefinition]) -> frozenset[IndexDefinition]:
        return frozenset(kept) - {USELESS}

    def seen(self, kept: Sequence[IndexDefinition]) -> dict[int, SeenStatement]:
        names = tuple(one.name for one in kept)
        self.trial.states.append(names)
        taken = "also" if "also" in names else "fast" if "fast" in names else None
        read = (
            SEEN
            if taken is None
            else replace(SEEN, signature=(taken, taken), used=frozenset((taken,)), times_ms=(1.0, 1.5))
        )
        heavier = 1.0 + 0.2 * len(names)
        write = replace(WRITE, times_ms=(heavier, heavier), buffers=(10 * heavier,) * 2, wal_bytes=(100 * heavier,) * 2)
        return {1: read, 2: write}


def tried(trial: Trial, *indexes: IndexDefinition, referencing: bool = False, stop: bool = False) -> TriedCandidates:
    wanted = [Candidate(one, (1,), 0.6, is_referencing=referencing) for one in indexes]
    return try_candidates(cast("IndexTrial", trial), wanted, {1: READ, 2: INSERT}, HOT, lambda: stop)


def test_what_no_plan_uses_is_not_executed_unless_a_foreign_key_may_need_it() -> None:
    trial = Trial()
    found = tried(trial, FAST, USELESS)
    assert [one.definition for one in found.built] == [FAST]
    assert (found.tried, ("useless",) in trial.states) == (2, False)
    assert len(tried(trial, USELESS, referencing=True).built) == 1


def test_gains_and_costs_are_shares_of_the_server_time() -> None:
    found = tried(Trial(), FAST)
    (option,) = found.options
    assert (option.query_id, option.indexes) == (1, frozenset((0,)))
    assert option.saved == pytest.approx(0.6 * 0.75)
    (cost,) = found.costs
    assert cost.time_share == pytest.approx(0.2 * 0.2)
    assert (cost.wal_bytes, cost.wal_bytes_after) == (pytest.approx(10_000.0), pytest.approx(12_000.0))
    problem = found.problem()
    assert problem.costs == (cost.time_share,)
    assert problem.least[0] == pytest.approx(0.005 * 1.01)


def test_writes_are_measured_without_the_index_before_and_behind() -> None:
    trial = Trial()
    tried(trial, FAST, ALSO)
    assert trial.states == [(), ("fast",), (), ("also",), (), ("fast", "also")]


def test_indexes_of_one_table_are_built_together_and_those_of_another_apart() -> None:
    trial = Trial()
    tried(trial, FAST, index("item", name="line_item", table="public.line"), ALSO)
    assert trial.batches == [("fast", "also"), ("line_item",)]


def test_the_first_few_are_tried_when_the_time_is_over_before_any() -> None:
    trial = Trial()
    others = [index(f"other{number}", name=f"other{number}") for number in range(9)]
    found = tried(trial, FAST, *others, stop=True)
    assert found.tried == 3
    assert trial.batches == [("fast", "other0", "other1")]
    assert [one.saved for one in found.options if one.indexes == {0}] == [pytest.approx(0.6 * 0.75)]


def test_no_further_table_is_tried_when_the_time_is_over() -> None:
    trial = Trial()
    elsewhere = replace_table(ALSO)
    found = tried(trial, FAST, elsewhere, stop=True)
    assert (found.tried, trial.batches) == (1, [("fast",)])


def replace_table(one: IndexDefinition) -> IndexDefinition:
    return IndexDefinition(table="public.elsewhere", keys=one.keys, name=one.name)
