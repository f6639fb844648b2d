"""What trials of single statements with a change add to what is known of a twin. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan_proof import PlanProof, StatementByPlan
from pgclinic.settings.execution import acts_by_plan_alone, acts_within_execution
from pgclinic.whatif.twin_change import TwinChange


def with_tried(fidelity: Fidelity, change: TwinChange, tried: Iterable[PlanProof]) -> Fidelity:
    """With what plans and executions show of the change: statements that run too seldom for a block were tried alone.

    Of a setting that acts by more than plans and executions, such as synchronous_commit, they know only the statements
    that visit fewer buffers. Only a constant of the planner leaves all as they are that keep plan and buffers: with
    more work_mem they may take a little more or less time.
    """
    proofs = tuple(tried)
    unchanged = [query_id for proof in proofs for query_id in proof.unchanged]
    known = frozenset(unchanged) if all(acts_by_plan_alone(name) for name in change.settings) else frozenset()
    is_all_seen = all(acts_within_execution(name) for name in change.settings)
    ratios: dict[int, float | None] = dict.fromkeys(unchanged, 1.0) if is_all_seen else {}
    for statement in (statement for proof in proofs for statement in proof.statements):
        if is_all_seen or _visits_fewer_buffers(statement):
            ratios[statement.query_id] = statement.most_ratio
    statements = tuple(
        replace(one, unchanged=one.query_id in known, tried_ratio=ratios.get(one.query_id))
        for one in fidelity.statements
    )
    omitted = tuple(replace(one, tried_ratio=ratios.get(one.query_id)) for one in fidelity.omitted)
    return replace(fidelity, statements=statements, omitted=omitted)


def _visits_fewer_buffers(tried: StatementByPlan) -> bool:
    return tried.buffers is not None and tried.buffers_after is not None and tried.buffers_after < tried.buffers
