"""Why one of two arms is slower: clear differences, those that matter most first."""

from __future__ import annotations

import pytest

from pgclinic.model.activity import Activity, CauseKind, StatementCompared, WaitCompared, WorkCompared, WorkKind
from pgclinic.samples.causes import find_causes


def work(kind: WorkKind, a: float, b: float, *, clear: bool = True) -> WorkCompared:
    return WorkCompared(work=kind, a=a, b=b, a_per_s=a, b_per_s=b, clear=clear)


def wait(name: str, explains: float | None, *, clear: bool = True) -> WaitCompared:
    return WaitCompared(wait=name, a=1.0, b=2.0, explains=explains, clear=clear)


def plan(explains: float | None, *, clear: bool = True, differ: bool = True) -> StatementCompared:
    return StatementCompared(text="select", a_us=1.0, b_us=2.0, clear=clear, plans_differ=differ, explains=explains)


def causes(slower: str = "b", **activity: tuple[object, ...]) -> list[tuple[CauseKind, float]]:
    found = find_causes(Activity(a_sessions=1, b_sessions=1, **activity), slower)  # type: ignore[arg-type]
    return [(cause.kind, cause.effect) for cause in found]


def test_a_plan_that_accounts_for_most_of_the_time_leads() -> None:
    waits, wal = (wait("WAL", 0.9),), (work(WorkKind.WAL, 100.0, 200.0),)
    leading = causes(statements=(plan(0.5),), wait_groups=waits, work=wal)
    assert leading == [(CauseKind.PLAN, 0.5), (CauseKind.WAIT, 0.9), (CauseKind.WORK, 0.5)]
    lesser = causes(statements=(plan(0.49),), wait_groups=waits, work=wal)
    assert lesser == [(CauseKind.WAIT, 0.9), (CauseKind.WORK, 0.5), (CauseKind.PLAN, 0.49)]


def test_no_cause_has_more_than_all_of_the_difference() -> None:
    assert causes(statements=(plan(1.7),)) == [(CauseKind.PLAN, 1.0)]
    assert causes(wait_groups=(wait("locks", 3.0),)) == [(CauseKind.WAIT, 1.0)]


@pytest.mark.parametrize(
    "statement", [plan(0.09), plan(None), plan(0.8, clear=False), plan(0.8, differ=False)], ids=str
)
def test_a_plan_is_no_cause_unless_it_clearly_differs_and_matters(statement: StatementCompared) -> None:
    assert causes(statements=(statement,)) == []


@pytest.mark.parametrize(
    "group", [wait("WAL", 0.09), wait("WAL", None), wait("WAL", 0.8, clear=False), wait("running", 0.8)], ids=str
)
def test_a_wait_is_no_cause_unless_it_clearly_differs_and_matters(group: WaitCompared) -> None:
    assert causes(wait_groups=(group,)) == []


def test_work_is_a_cause_only_for_the_arm_that_does_more_of_it() -> None:
    wal = (work(WorkKind.WAL, 1000.0, 250.0),)
    assert causes("a", work=wal) == [(CauseKind.WORK, 0.75)]
    assert causes("b", work=wal) == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    # 20 % more at least, and 50 bytes at least.
    [(1000.0, 1199.0, 0), (1000.0, 1200.0, 1), (100.0, 149.0, 0), (100.0, 150.0, 1)],
)
def test_work_is_a_cause_from_a_fifth_more_and_a_least_amount_on(a: float, b: float, expected: int) -> None:
    assert len(causes(work=(work(WorkKind.WAL, a, b),))) == expected


def test_cpu_is_named_only_where_nothing_else_is() -> None:
    cpu = work(WorkKind.CPU, 100.0, 400.0)
    assert causes(work=(cpu,)) == [(CauseKind.WORK, 0.75)]
    assert causes(work=(cpu, work(WorkKind.BUFFERS, 10.0, 20.0))) == [(CauseKind.WORK, 0.5)]
