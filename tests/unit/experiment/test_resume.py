"""What is left of a plan, and whether this is still the same machine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fixtures.doubts import TOO_SHORT
from fixtures.planned import plan_of, planned_blocks
from fixtures.records import failed_trial, global_counters, load_result, run_info, trial
from pgclinic.errors import UsageError
from pgclinic.experiment.budget import Budget
from pgclinic.experiment.plan import CounterbalancedPlan
from pgclinic.experiment.resume import with_machine
from pgclinic.judge.doubts.run import doubts_of_run
from pgclinic.model.block import BlockSpec
from pgclinic.model.calibration import Calibration
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.refusals import refusal_words
from pgclinic.study.in_profile import in_profile

PROFILE = replace(global_counters().profiles["quick"], blocks_min=3, blocks_max=3)
STUDY = in_profile(global_counters(), PROFILE)
PLAN = plan_of(STUDY, PROFILE, seed=3)
BLOCKS = tuple(planned_blocks(PLAN))
SPECS = [spec for block in BLOCKS for spec in block]


def done(spec: TrialSpec) -> TrialRecord:
    return replace(trial(STUDY, spec.number, spec.block, spec.arm, [1000.0] * 8), spec=spec)


def left(records: Sequence[TrialRecord] = (), last_number: int = 0) -> list[BlockSpec]:
    """The blocks that are asked for, when every trial gives what ``done`` does."""
    records = list(records)
    plan = CounterbalancedPlan(PLAN, Budget(PLAN, records), done=records, last_number=last_number)
    blocks = []
    while (block := plan.next_block(records)) is not None:
        blocks.append(block)
        records += [done(spec) for spec in block.trials]
    return blocks


def test_with_nothing_done_the_plan_is_whole() -> None:
    assert tuple(block.trials for block in left()) == BLOCKS


def test_numbers_go_on_after_a_calibration() -> None:
    specs = [spec for block in left(last_number=4) for spec in block.trials]
    assert [spec.number for spec in specs] == list(range(5, 5 + len(SPECS)))
    assert [replace(spec, number=0) for spec in specs] == [replace(spec, number=0) for spec in SPECS]


def test_only_what_is_missing_is_run_in_its_order_and_under_new_numbers() -> None:
    # Trial 4 was cut off: its folder has no record, but its number is used.
    blocks = left([done(spec) for spec in SPECS[:3]], 4)
    assert [(block.number, len(block.trials)) for block in blocks] == [(2, 1), (3, 2)]
    specs = [spec for block in blocks for spec in block.trials]
    assert [spec.number for spec in specs] == [5, 6, 7]
    assert [(spec.block, spec.arm, spec.position) for spec in specs] == [
        (spec.block, spec.arm, spec.position) for spec in SPECS[3:]
    ]


def test_an_interrupted_trial_is_repeated_and_a_failed_one_is_not() -> None:
    interrupted = replace(done(SPECS[0]), load=load_result([1000.0] * 3, stopped="interrupted"))
    failed = replace(failed_trial(STUDY, 2, 1, SPECS[1].arm, "the server was killed"), spec=SPECS[1])
    first = left([interrupted, failed], 2)[0]
    assert [(spec.arm, spec.number) for spec in first.trials] == [(SPECS[0].arm, 3)]


def test_the_same_machine_is_no_news_and_another_one_must_be_asked_for() -> None:
    info = run_info()
    assert with_machine(info, info.machine, pool=False) is info
    other = replace(info.machine, cores=64)
    with pytest.raises(UsageError, match="cores 2 and 64") as caught:
        with_machine(info, other, pool=False)
    assert "--pool-machines" in (caught.value.hint or "")
    pooled = with_machine(info, other, pool=True)
    assert pooled.other_machines == (other,)
    assert with_machine(pooled, other, pool=False) is pooled, "asked for once"


def test_doubts_of_the_run_as_a_whole() -> None:
    info = run_info()
    calm = Calibration(trials=4, seconds=56, budget_s=300, switch_s=5)
    assert doubts_of_run(info, None) == doubts_of_run(info, calm) == ()
    pooled = replace(info, other_machines=(replace(info.machine, kernel="Linux 6.9"),))
    found = doubts_of_run(pooled, replace(calm, refusal=TOO_SHORT))
    assert [doubt.kind for doubt in found] == [DoubtKind.DIFFERENT_MACHINE, DoubtKind.CALIBRATION_REFUSED]
    assert "Linux 6.9" in doubt_words(found[0]).text
    assert doubt_words(found[1])[1:] == refusal_words(TOO_SHORT)
