"""Comparisons and proofs by blocks take over what plans know of statements that are too rare for a block."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pgclinic.model.fidelity import Fidelity, OmittedStatement, StatementFidelity
from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan
from pgclinic.whatif.tried_fidelity import with_tried
from pgclinic.whatif.twin_change import TwinChange

INDEX = TwinChange(0, "an index", statements=("create index on orders (customer_id)",))
PLANS = PlanProof(
    word=PlanWord.CURED, ratio=0.5, statements=(), tried=2, tried_time_share=1.0, draws=3, unchanged=(2, 3)
)
STATEMENTS = tuple(
    StatementFidelity(query_id=key, text="select 1", calls_share=0.5, time_share=0.5, rows=1.0, blocks=1.0, ms=1.0)
    for key in (1, 2)
)
FIDELITY = Fidelity(figures=(), statements=STATEMENTS, omitted=(), judges_throughput=True, transactions=0)


def unchanged(change: TwinChange, *tried: PlanProof) -> list[int]:
    found = with_tried(FIDELITY, change, tried)
    return [statement.query_id for statement in found.statements if statement.unchanged]


def test_statements_that_an_index_leaves_as_they_are_are_known_by_plans() -> None:
    assert unchanged(INDEX, PLANS) == [2]


def test_a_setting_may_change_the_time_of_a_statement_and_nothing_that_a_plan_shows() -> None:
    assert unchanged(replace_settings(INDEX), PLANS) == []
    assert unchanged(INDEX) == []


def test_a_constant_of_the_planner_acts_by_plans_alone() -> None:
    costs = TwinChange(0, "costs", settings={"random_page_cost": "1.1", "enable_nestloop": "on"})
    assert unchanged(costs, PLANS) == [2]
    both = TwinChange(0, "both", settings={"random_page_cost": "1.1", "work_mem": "8MB"})
    assert unchanged(both, PLANS) == []


@pytest.mark.parametrize(("name", "ratio"), [("work_mem", 1.0), ("synchronous_commit", None), ("jit", None)])
def test_what_one_execution_shows_is_all_of_some_settings(name: str, ratio: float | None) -> None:
    """Statement 2 kept plan and buffers: with more work_mem it takes about its time, without a flush nobody knows."""
    change = TwinChange(0, name, settings={name: "x"})
    found = with_tried(FIDELITY, change, (PLANS,))
    assert [statement.tried_ratio for statement in found.statements] == [None, ratio]
    assert not any(statement.unchanged for statement in found.statements)


def test_what_an_earlier_proof_knew_is_not_said_of_the_next_change() -> None:
    before = replace(FIDELITY, statements=tuple(replace(statement, unchanged=True) for statement in STATEMENTS))
    found = with_tried(before, INDEX, (PLANS,))
    assert [statement.unchanged for statement in found.statements] == [False, True]


def test_what_a_statement_took_when_it_was_tried_alone_is_known() -> None:
    """With a setting only of those that visit fewer buffers: it may make others slower by what no plan shows."""
    tried = StatementByPlan(
        query_id=1,
        text="select 1",
        time_share=0.5,
        plan="Seq Scan",
        plan_after="Index Scan",
        buffers=9.0,
        buffers_after=3.0,
    )
    plans = replace(PLANS, statements=(tried, replace(tried, query_id=2, buffers_after=9.5)))
    found = with_tried(FIDELITY, INDEX, (plans,))
    assert [statement.tried_ratio for statement in found.statements] == pytest.approx([3.0 / 9.0, 9.5 / 9.0])
    of_setting = with_tried(FIDELITY, replace_settings(INDEX), (plans,))
    assert [statement.tried_ratio is not None for statement in of_setting.statements] == [True, False]
    assert not any(statement.unchanged for statement in of_setting.statements)


def test_what_was_tried_later_is_known_too_also_of_statements_that_the_twin_does_not_run() -> None:
    """Statement 2 is in the mix and 3 is too rare for it; both had no values when the change was tried first."""
    first = replace(PLANS, unchanged=(1,))
    rare = OmittedStatement(query_id=3, text="select 3", reason="rare", detail="", calls_share=0.0, time_share=0.1)
    found = with_tried(replace(FIDELITY, omitted=(rare, replace(rare, query_id=4))), INDEX, (first, PLANS))
    assert [statement.tried_ratio for statement in found.statements] == [1.0, 1.0]
    assert [statement.tried_ratio for statement in found.omitted] == [1.0, None]


def replace_settings(change: TwinChange) -> TwinChange:
    return TwinChange(change.treatment, change.title, settings={"jit": "off"}, statements=change.statements)
