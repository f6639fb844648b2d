"""What becomes of one statement: its word over all passes, its plans, the order."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.model.upgrade import StatementUpgraded, UpgradeWord
from pgclinic.tune.upgrade.executions import LIMIT_MS, ExecutionsSeen, ValuedStatement
from pgclinic.tune.upgrade.statements import UpgradeTrial, in_order, judged, spread_of

STATEMENT = ValuedStatement(1, "select 1", 0.4, ("select 1",))
NESTED, HASHED = ("Nested Loop(a, b)",), ("Hash Join(a, b)",)


def seen(ms: float, plans: tuple[str, ...] = NESTED, **more: object) -> ExecutionsSeen:
    times = [ms * (1 + 0.001 * turn) for turn in range(10)]
    return ExecutionsSeen(plans=plans, times_ms=times, planning_ms=times, rows=3.0, **more)  # type: ignore[arg-type]


def trial(*passes: tuple[ExecutionsSeen, ExecutionsSeen, ExecutionsSeen]) -> UpgradeTrial:
    return UpgradeTrial(STATEMENT, list(passes))


def found(*passes: tuple[ExecutionsSeen, ExecutionsSeen, ExecutionsSeen]) -> StatementUpgraded:
    return judged(trial(*passes), 1.02, 10)


SLOW = (seen(1.0), seen(1.0), seen(3.0, HASHED))
AS_BEFORE = (seen(1.0), seen(1.0), seen(1.0))


def test_a_slower_statement_with_another_plan() -> None:
    one = found(SLOW, SLOW, SLOW)
    assert (one.word, one.plan_changed, one.plan_varies) == (UpgradeWord.SLOWER, True, False)
    assert (one.before_plan, one.after_plan) == (NESTED[0], HASHED[0])
    assert one.ratio is not None
    assert 2.9 < one.ratio < 3.1
    assert one.executions == 30


def test_what_another_sample_of_analyze_undoes_is_no_finding() -> None:
    one = found(SLOW, AS_BEFORE)
    assert (one.word, one.plan_changed, one.plan_varies) == (UpgradeWord.OPEN, False, True)


def test_a_plan_that_the_old_version_has_too_has_not_changed() -> None:
    one = found((seen(1.0), seen(1.0, HASHED), seen(1.0, HASHED)))
    assert (one.plan_changed, one.plan_varies) == (False, True)


def test_other_rows_and_refused_values_give_no_times() -> None:
    other = replace_rows(seen(3.0), 9.0)
    assert found((seen(1.0), seen(1.0), other)).word is UpgradeWord.OTHER_ROWS
    assert found((seen(1.0), seen(1.0), ExecutionsSeen(problem="refused"))).word is UpgradeWord.NOT_RUN


def replace_rows(one: ExecutionsSeen, rows: float) -> ExecutionsSeen:
    one.rows = rows
    return one


def test_what_is_stopped_on_the_new_version_alone_is_slower() -> None:
    first = ExecutionsSeen(plans=NESTED, first_ms=7.0)
    one = found((first, first, ExecutionsSeen(plans=HASHED, is_stopped=True)))
    assert (one.word, one.at_least, one.ratio) == (UpgradeWord.SLOWER, True, None)
    assert (one.before_ms, one.after_ms) == (7.0, float(LIMIT_MS))
    both = ExecutionsSeen(plans=HASHED, is_stopped=True)
    assert found((both, both, both)).word is UpgradeWord.NOT_RUN


def test_the_spread_is_that_of_the_old_servers() -> None:
    assert spread_of([trial(AS_BEFORE)]) == 1.0
    assert spread_of([trial((seen(1.0), seen(1.2), seen(9.0)))]) > 1.19


def test_slower_ones_come_first_by_what_they_cost() -> None:
    base = found(SLOW)
    rare = replace(base, query_id=2, time_share=0.01)
    faster = replace(base, query_id=3, word=UpgradeWord.FASTER, ratio=0.1, time_share=0.9)
    assert [one.query_id for one in in_order([faster, rare, base])] == [1, 2, 3]
