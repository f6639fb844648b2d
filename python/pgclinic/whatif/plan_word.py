"""The word for a change by plans, from every statement before and after it. Pure.

Buffers stand for the server's time: ``ratio`` is sum(t b' / b) / sum(t) over statements with the time t on the
original, and b and b' buffers per call as it is and treated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan

#: The workload has to visit this much less, or more, for a word about it.
CURED_MAX, WORSE_MIN = 0.95, 1.05
#: Buffers and WAL of one statement that differ by less are those of other values or of another moment.
SAME_BUFFERS = 0.05
SAME_WAL = 0.02


def plan_proof(statements: Sequence[StatementByPlan], *, draws: int) -> PlanProof:
    """The proof of one change from all statements that were tried."""
    changed = [statement for statement in statements if is_changed(statement)]
    ratio = buffers_ratio(statements)
    return PlanProof(
        word=_word([one for one in changed if one.has_other_plan or _is_moved(one)], ratio),
        ratio=ratio,
        statements=tuple(sorted(changed, key=lambda one: (one.time_share * (_ratio(one) - 1.0), one.query_id))),
        tried=len(statements),
        tried_time_share=min(1.0, sum(statement.time_share for statement in statements)),
        draws=draws,
        unchanged=tuple(sorted(statement.query_id for statement in statements if statement not in changed)),
    )


def is_changed(one: StatementByPlan) -> bool:
    """Whether the change gives the statement another plan, or makes it visit or write more or less."""
    if one.has_other_plan or _is_moved(one):
        return True
    if not one.wal_bytes or one.wal_bytes_after is None:
        return False
    return abs(one.wal_bytes_after / one.wal_bytes - 1.0) > SAME_WAL


def _is_moved(one: StatementByPlan) -> bool:
    """Whether it visits more or fewer buffers; a page more or less is one that a rolled back row went to."""
    if one.buffers is None or one.buffers_after is None:
        return False
    return abs(one.buffers_after - one.buffers) > max(1.0, SAME_BUFFERS * one.buffers)


def buffers_ratio(statements: Iterable[StatementByPlan]) -> float:
    """Of the buffers of the workload, 1 where no statement has a share of the time."""
    weighted = [(statement.time_share, _ratio(statement)) for statement in statements]
    whole = sum(share for share, _ in weighted)
    return sum(share * ratio for share, ratio in weighted) / whole if whole else 1.0


def _ratio(one: StatementByPlan) -> float:
    """1 for a statement that was only planned: what its other plan costs is not known."""
    if one.buffers is None or one.buffers_after is None:
        return 1.0
    return max(one.buffers_after, 1.0) / max(one.buffers, 1.0)


def _word(changed: Sequence[StatementByPlan], ratio: float) -> PlanWord:
    if ratio <= CURED_MAX:
        return PlanWord.CURED
    if ratio >= WORSE_MIN:
        return PlanWord.WORSE
    return PlanWord.NO_GAIN if changed else PlanWord.NO_CHANGE
