"""What to do after a study or a comparison follows from its answer, and from what its trials ran on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fixtures.comparison import asked, comparison, measured
from fixtures.doubts import starved
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, run_info
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.doubt import Doubt
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.next.experiment import arm_words, changed_settings, study_next
from pgclinic.report.words.doubts import doubt_words
from pgclinic.study.compare import PROFILE

COMMAND = ("pgclinic", "compare", "--a", "set:work_mem=4MB", "--b=set:work_mem=64MB", "-c", "4")
FASTER, SLOWER, SAME, OPEN = (
    (5.5, 5.4, 5.6, 5.5),
    (0.5, 0.51, 0.49, 0.5),
    (1.0, 1.001, 0.999, 1.0),
    (0.8, 1.1, 0.9, 1.2),
)


def compared(
    ratios: Sequence[float], doubts: tuple[Doubt, ...] = (), *, statements: str | None = None
) -> ReportedStudy:
    study, trials = asked(blocks=max(4, len(ratios))), measured(ratios)
    trials = tuple(replace(one, doubts=doubts) for one in trials)
    if statements is not None:
        own = SqlDataset(statements)
        trials = tuple(replace(one, spec=replace(one.spec, dataset=own)) for one in trials)
    verdict = judge(study, trials, study.profiles[PROFILE])
    info = run_info(kind="compare", command=COMMAND)
    seen = comparison(ratios, doubts=doubts)
    return ReportedStudy(info, study, trials, (), verdict, "runs/one", seen)


def test_a_faster_arm_on_test_data_is_repeated_on_a_twin_and_on_own_data_chosen() -> None:
    on_pgbench = study_next(compared(FASTER))
    assert on_pgbench.commands == (
        "pgclinic capture twin DSN -o my.twin",
        "pgclinic compare --twin my.twin --a set:work_mem=4MB --b=set:work_mem=64MB",
    )
    on_own = study_next(compared(FASTER, statements="create table orders (id int);"))
    assert on_own.words == "choose b"
    assert on_own.commands[0] == "alter system set work_mem to '64MB';"
    assert on_own.is_sql


def test_a_setting_that_may_lose_commits_is_never_just_chosen() -> None:
    one = compared(FASTER, statements="create table orders (id int);")
    risky = tuple(
        replace(each, spec=replace(each.spec, settings={"synchronous_commit": "off"} if each.spec.arm == "b" else {}))
        for each in one.trials
    )
    step = study_next(ReportedStudy(one.run, one.study, risky, (), one.verdict, "runs/one", one.comparison))
    assert "synchronous_commit has a risk: it may lose commits in a crash" in step.words
    assert changed_settings(risky) == {"synchronous_commit": "off"}


@pytest.mark.parametrize("ratios", [SLOWER, SAME])
def test_an_arm_that_gains_nothing_is_left(ratios: Sequence[float]) -> None:
    step = study_next(compared(ratios))
    assert step.words.startswith("keep a")
    assert step.commands == ()


def test_an_open_comparison_is_continued_with_the_reason() -> None:
    step = study_next(compared(FASTER[:3]))
    assert step.words == "run more blocks, 5 in all: 3 blocks give no interval yet"
    assert step.commands == ("pgclinic compare --resume runs/one --blocks 5",)
    wide = study_next(compared(OPEN))
    assert ("is still too wide" in wide.words) == bool(wide.commands)


def test_an_invalid_answer_says_what_to_stop_and_is_run_again() -> None:
    step = study_next(compared(SLOWER, (starved(0.9),)))
    assert step.words == doubt_words(starved(0.9)).advice
    assert step.commands == ("pgclinic compare --a set:work_mem=4MB --b=set:work_mem=64MB -c 4",)


def test_a_study_that_a_pathology_rests_on_leads_to_a_checkup_and_another_to_its_full_profile() -> None:
    study = global_counters()
    trials = blocks_of(study, (0.5, 0.51, 0.49, 0.5, 0.5))
    verdict = judge(study, trials)
    verdict = replace(verdict, claims=(replace(verdict.claims[0], word=VerdictWord.REPLICATED), *verdict.claims[1:]))
    one = ReportedStudy(run_info(profile="quick"), study, trials, (), verdict, "runs/one")
    assert study_next(one).commands == ("pgclinic checkup DSN",)
    missed = replace(verdict, claims=(replace(verdict.claims[0], word=VerdictWord.NOT_REPLICATED),))
    quick = ReportedStudy(run_info(profile="quick"), study, trials, (), missed, "runs/one")
    assert study_next(quick).commands == ("pgclinic study run global-counters --full",)
    full = ReportedStudy(run_info(profile="full"), study, trials, (), missed, "runs/one")
    assert study_next(full).commands == ()
    unknown = ReportedStudy(run_info(profile="quick"), replace(study, name="mine"), trials, (), missed, "runs/one")
    assert study_next(unknown).commands == (), "a study of the user's may have no such profile"


def test_arms_are_taken_as_they_were_written() -> None:
    assert arm_words(COMMAND) == ("--a", "set:work_mem=4MB", "--b=set:work_mem=64MB")
