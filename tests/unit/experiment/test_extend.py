"""More blocks for a run without an answer: how many, until when, and by which interval it is then judged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.comparison import asked, comparison, measured, reported
from fixtures.planned import judge, judged_plan
from fixtures.records import run_info
from pgclinic.cli.duration import parse_budget_s
from pgclinic.errors import UsageError
from pgclinic.experiment.extend import blocks_that_decide, extended, with_blocks, with_budget
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Profile
from pgclinic.model.verdict import IntervalMethod
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.study.compare import PROFILE

#: As noisy as that, four blocks leave it open.
OPEN = (1.0, 1.2, 0.9, 1.1)
FOUR = measured(OPEN)


def info_of(profile: Profile, kind: str = "compare") -> RunInfo:
    return run_info(kind=kind, profile=PROFILE, budget_s=profile.budget_s)


def test_a_fixed_number_that_is_raised_is_fixed_no_more() -> None:
    study = asked(blocks=4)
    profile = study.profiles[PROFILE]
    before = judge(study, FOUR, profile).headline.interval
    assert before is not None and before.method is IntervalMethod.FIXED_BLOCKS

    info = with_blocks(info_of(profile), profile, FOUR, 6)
    assert (info.blocks_max, info.blocks_fixed) == (6, 4)
    profile = extended(judged_plan(study, profile), info).profile
    # A block that has to be left out must not make it look like the four that were planned.
    for blocks in (4, 5, 6):
        trials = measured((*OPEN, 1.0, 1.05)[:blocks])
        interval = judge(study, trials, profile).headline.interval
        assert interval is not None and interval.method is IntervalMethod.ALWAYS_VALID


def test_an_open_number_only_grows() -> None:
    study = asked(blocks=None, budget_s=120)
    profile = study.profiles[PROFILE]
    info = with_blocks(info_of(profile), profile, FOUR, 30)
    assert (info.blocks_max, info.blocks_fixed) == (30, None)
    longer = extended(judged_plan(study, profile), info).profile
    assert (longer.blocks_min, longer.blocks_max) == (profile.blocks_min, 30)
    assert longer.budget_s > 86_400


def test_the_rest_of_a_fixed_number_stays_fixed() -> None:
    study = asked(blocks=6)
    profile = study.profiles[PROFILE]
    info = with_blocks(info_of(profile), profile, FOUR, 6)
    assert info.blocks_fixed is None
    assert extended(judged_plan(study, profile), info).profile == profile


@pytest.mark.parametrize(
    ("planned", "blocks", "words"), [(4, 3, "4 have run"), (8, 6, "needs 8"), (4, 1001, "too many")]
)
def test_a_number_that_cannot_be_is_refused(planned: int, blocks: int, words: str) -> None:
    profile = asked(blocks=planned).profiles[PROFILE]
    with pytest.raises(UsageError, match=words):
        with_blocks(info_of(profile), profile, FOUR, blocks)


def test_a_budget_counts_what_is_spent() -> None:
    profile = asked(blocks=None, budget_s=120).profiles[PROFILE]
    spent_s = sum(trial.elapsed_s for trial in FOUR)
    assert parse_budget_s("+3m", spent_s) == spent_s + 180
    assert parse_budget_s("3m", spent_s) == 180
    info = with_budget(info_of(profile), profile, FOUR, spent_s + 180)
    assert info.budget_s == spent_s + 180
    # A block is 12 s of load.
    assert info.blocks_max is not None and 12 * info.blocks_max >= info.budget_s
    with pytest.raises(UsageError, match="holds no further block") as caught:
        with_budget(info_of(profile), profile, FOUR, spent_s + 1)
    assert "--budget +" in (caught.value.hint or "")


def test_time_adds_no_block_to_a_study_that_has_run_them_all() -> None:
    profile = replace(asked(blocks=4).profiles[PROFILE], budget_s=600.0)
    with pytest.raises(UsageError, match="all 4 blocks of the plan have run") as caught:
        with_budget(info_of(profile, "study"), profile, FOUR, 900.0)
    assert caught.value.hint == "--blocks 5, or more"


def test_what_would_decide_is_said_with_its_command() -> None:
    assert blocks_that_decide((2, 5), FOUR) == 9
    assert blocks_that_decide((2, None), FOUR) is None
    assert blocks_that_decide((), FOUR) is None
    assert blocks_that_decide((5000,), FOUR) is None
    seen = comparison((0.9, 0.8, 0.95, 0.85))
    assert seen.word is CompareWord.INCONCLUSIVE and seen.blocks_needed is not None
    todo = study_next(reported(seen, FOUR))
    text = compare_text(seen, FOUR, RunPaths(folder="runs/one", resume_note="with PGPASSWORD"), todo=todo, width=70)
    command = f"pgclinic compare --resume runs/one --blocks {4 + seen.blocks_needed}"
    assert f"\n              {command}\n              with PGPASSWORD\n" in text
    decided = comparison((0.5, 0.51, 0.49, 0.5))
    assert "--resume" not in study_next(reported(decided, FOUR)).text
