"""Indexes left out in blocks: how many there is time for, and what becomes of one that saves nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.advised import an_advice, index
from pgclinic.advise.advisor import with_proof
from pgclinic.advise.measurement import ratios_between
from pgclinic.advise.proof import PART_MEASURE_S, left_out, saves_nothing, with_ratios
from pgclinic.model.advise import AdviceProof, AdviceWord, LeftOutIndex
from pgclinic.model.fidelity import Fidelity, StatementFidelity
from pgclinic.whatif.trials_in_time import arms_in_time, trials_in_time


def part(name: str, low: float | None, high: float | None) -> LeftOutIndex:
    ratio = None if low is None or high is None else (low * high) ** 0.5
    return LeftOutIndex(name=name, ratio=ratio, low=low, high=high, blocks=5)


def test_what_saves_nothing_in_the_whole_interval_is_withdrawn() -> None:
    (first,) = an_advice().indexes
    second = replace(first, definition=index("note", name="orders_note"), saved_share=0.03)
    advice = an_advice(indexes=(first, second), saved_share=0.51)
    proof = AdviceProof(
        word="faster",
        ratio=0.5,
        low=0.4,
        high=0.6,
        left_out=(part(first.definition.name, 0.5, 0.7), part("orders_note", 0.997, 1.2)),
    )
    found = with_proof(advice, proof)
    assert [one.definition.name for one in found.indexes] == [first.definition.name]
    assert [one.name for one in found.withdrawn] == ["orders_note"]
    assert (found.word, found.proof) == (AdviceWord.ADVISED, proof)
    assert found.saved_share == pytest.approx(0.48)


def test_an_interval_that_reaches_from_a_saving_to_a_loss_decides_nothing() -> None:
    assert not saves_nothing(part("a", 0.9, 1.1))
    assert not saves_nothing(part("a", 0.99, 1.2))
    assert not saves_nothing(part("a", None, None))
    assert saves_nothing(part("a", 1.02, 1.2))
    assert left_out("a", None).reason is not None


def test_a_set_that_is_slower_is_not_advised_whatever_its_indexes_do() -> None:
    advice = an_advice()
    name = advice.indexes[0].definition.name
    proof = AdviceProof(word="slower", ratio=1.2, low=1.1, high=1.3, left_out=(part(name, 1.1, 1.3),))
    found = with_proof(advice, proof)
    assert (found.word, found.indexes, found.withdrawn) == (AdviceWord.CONTRADICTED, advice.indexes, ())


def test_as_many_indexes_are_left_out_as_there_is_time_for() -> None:
    assert arms_in_time(10.0, 12, PART_MEASURE_S) == 2
    several = arms_in_time(200.0, 12, PART_MEASURE_S)
    assert 2 < several < 12
    assert trials_in_time(200.0, arms=several) is not None
    assert arms_in_time(200.0, 3, PART_MEASURE_S) == 3
    assert arms_in_time(10_000.0, 12, PART_MEASURE_S) == 12


def test_what_single_executions_show_of_an_index_bounds_what_the_twin_does_not_reproduce() -> None:
    rows = [
        StatementFidelity(query_id=key, text="select 1", calls_share=0.5, time_share=0.5, rows=1.0, blocks=1.0, ms=1.0)
        for key in (1, 2, 3)
    ]
    twin = Fidelity((), tuple(rows), (), judges_throughput=True, transactions=0)
    found = with_ratios(twin, {1: 1.0, 2: 0.4})
    assert [(one.unchanged, one.tried_ratio) for one in found.statements] == [(True, 1.0), (False, 0.4), (False, None)]
    assert ratios_between({}, {}) == {}
