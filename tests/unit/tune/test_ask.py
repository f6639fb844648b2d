"""An adaptive plan remembers nothing but the records: it goes on wherever it was cut off."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.surrogate import SimulatedServer, arm, drive
from pgclinic.model.trial import StopRule, TrialRecord
from pgclinic.tune.ask import AdaptivePlan, Ask, Strategy, asked, is_complete
from pgclinic.tune.rate import rate_of


def server() -> SimulatedServer:
    return SimulatedServer(lambda settings, _: 2.0 - 0.5 * len(settings))


def two_rounds() -> Strategy[float]:
    """Asks for two arms, and then for whichever was slower."""
    first = yield Ask((asked("a", {}, arm()), asked("b", {"x": "1"}, arm())), 2.0)
    slower = min(first, key=lambda one: rate_of(one).per_s)
    (again,) = yield Ask((asked("again", slower.spec.settings, arm()),), 2.0)
    return rate_of(again).per_s


def test_what_is_asked_for_depends_on_what_came() -> None:
    found, records = drive(two_rounds, server())
    assert found == pytest.approx(10**1.5, rel=0.5)
    assert [record.spec.number for record in records] == [1, 2, 3]
    assert {record.spec.arm for record in records if record.spec.block == 1} == {"a", "b"}
    assert records[-1].spec.settings == {"x": "1"}


@pytest.mark.parametrize("kept", range(4))
def test_a_run_goes_on_where_it_was_cut_off(kept: int) -> None:
    simulated = server()
    _, records = drive(two_rounds, simulated)
    plan = AdaptivePlan(two_rounds, arm(), seed=1, last_number=7)
    known = records[:kept]
    while (block := plan.next_block(known)) is not None:
        assert all(spec.number > 7 for spec in block.trials)
        known = [*known, *(simulated.trial(spec) for spec in block.trials)]
    assert plan.found is not None
    assert len(known) == 3


def test_one_block_runs_at_a_time() -> None:
    plan = AdaptivePlan(two_rounds, arm(), seed=1)
    assert plan.next_block([], running=[1]) is None
    assert plan.next_block([]) is not None


def test_a_trial_that_a_ctrl_c_cut_short_is_asked_for_again() -> None:
    _, records = drive(two_rounds, server())
    load = records[0].load
    assert load is not None
    cut = [replace(records[0], load=replace(load, stopped="interrupted")), *records[1:]]
    block = AdaptivePlan(two_rounds, arm(), seed=1, last_number=3).next_block(cut)
    assert block is not None
    assert [spec.arm for spec in block.trials] == [records[0].spec.arm]


def test_a_trial_that_ended_with_its_first_commit_is_complete() -> None:
    _, records = drive(two_rounds, server())
    load = records[0].load
    assert load is not None
    stop = StopRule(transactions=1)
    cut = replace(records[0], load=replace(load, stopped="interrupted"), spec=replace(records[0].spec, stop=stop))
    assert is_complete(cut)
    assert not is_complete(replace(cut, spec=records[0].spec))


def test_what_was_measured_of_something_else_is_measured_again() -> None:
    """With another budget a plan may ask for something else than it did."""
    _, records = drive(two_rounds, server())
    other: list[TrialRecord] = [*records[:2], replace(records[2], spec=replace(records[2].spec, settings={"y": "2"}))]
    block = AdaptivePlan(two_rounds, arm(), seed=1, last_number=3).next_block(other)
    assert block is not None
    assert [(spec.number, spec.settings) for spec in block.trials] == [(4, {"x": "1"})]
