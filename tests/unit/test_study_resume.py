"""What is left of a plan, whether it is still the same plan, and whether this is still the same machine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import failed_trial, global_counters, load_result, run_info, trial
from pgclinic.errors import UsageError
from pgclinic.model.prelude import Prelude, Refusal, RefusalKind
from pgclinic.model.trial import DoubtKind, ServerSpec, TrialRecord, TrialSpec
from pgclinic.study.expand import expand
from pgclinic.study.fitted import in_profile
from pgclinic.study.resume import refuse_another_plan, still_to_run, with_machine
from pgclinic.study.trust import doubts_of_run

PROFILE = replace(global_counters().profiles["quick"], blocks_min=3, blocks_max=3)
STUDY = in_profile(global_counters(), PROFILE)
BLOCKS = expand(STUDY, PROFILE, seed=3, server=ServerSpec(version="18.6"), extra_settings={})
SPECS = [spec for block in BLOCKS for spec in block]


def done(spec: TrialSpec) -> TrialRecord:
    return replace(trial(STUDY, spec.number, spec.block, spec.arm, [1000.0] * 8), spec=spec)


def test_with_nothing_done_the_plan_is_whole() -> None:
    assert tuple(still_to_run(BLOCKS, (), 0)) == tuple(BLOCKS)


def test_numbers_go_on_after_a_prelude() -> None:
    left = tuple(still_to_run(BLOCKS, (), 4))
    assert [spec.number for block in left for spec in block] == list(range(5, 5 + len(SPECS)))
    assert [replace(spec, number=0) for block in left for spec in block] == [replace(s, number=0) for s in SPECS]


def test_only_what_is_missing_is_run_in_its_order_and_under_new_numbers() -> None:
    # Trial 4 was cut off: its folder has no record, but its number is used.
    left = tuple(still_to_run(BLOCKS, [done(spec) for spec in SPECS[:3]], 4))
    assert [len(block) for block in left] == [0, 1, 2]
    assert [spec.number for block in left for spec in block] == [5, 6, 7]
    assert [(spec.block, spec.arm, spec.position) for block in left for spec in block] == [
        (spec.block, spec.arm, spec.position) for spec in SPECS[3:]
    ]


def test_an_interrupted_trial_is_repeated_and_a_failed_one_is_not() -> None:
    interrupted = replace(done(SPECS[0]), load=load_result([1000.0] * 3, stopped="interrupted"))
    failed = replace(failed_trial(STUDY, 2, 1, SPECS[1].arm, "the server was killed"), spec=SPECS[1])
    left = tuple(still_to_run(BLOCKS, [interrupted, failed], 2))
    assert [(spec.arm, spec.number) for spec in left[0]] == [(SPECS[0].arm, 3)]


def test_a_plan_that_has_changed_is_refused() -> None:
    records = [replace(done(spec), spec=replace(spec, number=spec.number + 40)) for spec in SPECS[:3]]
    refuse_another_plan(BLOCKS, records)
    for change in ({"settings": {"work_mem": "1GB"}}, {"block": 9}, {"arm": "other"}, {"fill": "select 1"}):
        with pytest.raises(UsageError, match="is not what would be run now"):
            refuse_another_plan(BLOCKS, [replace(records[0], spec=replace(records[0].spec, **change))])


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
    calm = Prelude(trials=4, seconds=56, budget_s=300, switch_s=5)
    assert doubts_of_run(info, None) == doubts_of_run(info, calm) == ()
    pooled = replace(info, other_machines=(replace(info.machine, kernel="Linux 6.9"),))
    refusal = Refusal(kind=RefusalKind.TOO_SHORT, text="too little", advice="more")
    found = doubts_of_run(pooled, replace(calm, refusal=refusal))
    assert [doubt.kind for doubt in found] == [DoubtKind.DIFFERENT_MACHINE, DoubtKind.PRELUDE_REFUSED]
    assert "Linux 6.9" in found[0].text
    assert (found[1].text, found[1].advice) == ("too little", "more")
