"""When a trial shows that its load can never succeed, and what is said then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import blocks_of, global_counters, histogram, load_result
from pgclinic.errors import WorkloadError
from pgclinic.experiment.broken_script import refuse_broken
from pgclinic.model.load import Failure, LoadResult, ScriptResult, StatementResult
from pgclinic.model.trial import TrialRecord

STUDY = global_counters()
GOOD = blocks_of(STUDY, (0.6,))[0]


def failing(*sqlstates: str, transactions: int = 0, warm_up: int = 0, rolled_back: int = 0) -> LoadResult:
    statements = [
        StatementResult(line=line, text="sql", executions=9, failures=failures, latency=histogram(0))
        for line, failures in ((2, 0), (5, 7))
    ]
    script = ScriptResult(
        name="update", weight=1, transactions=0, failed=7, skipped=0, retried=0, retries=0, latency=histogram(0),
        statements=tuple(statements),
    )  # fmt: skip
    failures = [
        Failure(sqlstate=state, script="update", statement=1, count=7, message=f"refused by {state}")
        for state in sqlstates
    ]
    return replace(
        load_result([0.0]),
        transactions=transactions,
        warm_up_transactions=warm_up,
        rolled_back=rolled_back,
        failed=7 * len(failures),
        failures=tuple(failures),
        scripts=(script,),
    )


def trial_with(load: LoadResult | None) -> TrialRecord:
    return replace(GOOD, load=load)


@pytest.mark.parametrize("sqlstate", ["42601", "42P01", "42501", "23505", "22012", "3F000", "28000", "P0001"])
def test_a_load_that_only_fails_for_good_is_refused(sqlstate: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        refuse_broken(trial_with(failing(sqlstate)), ())
    arm = GOOD.spec.arm
    assert caught.value.message == (
        f"no transaction of arm {arm} succeeded; script update, line 5: refused by {sqlstate} ({sqlstate})"
    )
    assert caught.value.exit_code == 2


def test_what_the_engine_finds_names_its_own_line() -> None:
    with pytest.raises(WorkloadError, match=r"succeeded; script update: refused by script$"):
        refuse_broken(trial_with(failing("script")), ())


@pytest.mark.parametrize(
    "load",
    [
        failing("42601", transactions=1),
        failing("42601", warm_up=1),
        failing("42601", rolled_back=1),
        failing("40001"),
        failing("42601", "53300"),
        failing("57P03"),
        failing("connection"),
        failing("timeout"),
        load_result([0.0]),
        None,
    ],
)
def test_what_may_pass_or_has_worked_goes_on(load: LoadResult | None) -> None:
    """Nothing is raised."""
    refuse_broken(trial_with(load), ())


def test_an_arm_that_has_worked_before_goes_on() -> None:
    refuse_broken(trial_with(failing("42601")), (GOOD,))
    other = replace(GOOD, spec=replace(GOOD.spec, arm="another"))
    with pytest.raises(WorkloadError):
        refuse_broken(trial_with(failing("42601")), (other,))
