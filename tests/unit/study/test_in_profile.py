"""A profile runs some of a study's arms: what is left of the others, and of the claims about them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import plan_of
from fixtures.records import run_info
from pgclinic.cli.main import run
from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.experiment.fit import IDLE_BYTES, fitted, sessions_that_fit
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.study import ArmFile, WorkloadChange
from pgclinic.report.sections.repeat.view import repeat_commands
from pgclinic.report.words.doubts import doubt_words
from pgclinic.study.in_profile import in_profile
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.read import parse_study, read_study, study_text

STUDY, _ = read_study("global-counters")
DEMO = STUDY.profiles["demo"]
SCALING, _ = read_study("connection-scaling")
GIB = 2**30


def test_the_demo_has_two_arms_and_only_claims_about_them() -> None:
    demo = in_profile(STUDY, DEMO)
    assert set(demo.arms) == {"free", "held"}
    assert demo.claims[0] == STUDY.claims[0]
    assert {arm for claim in demo.claims for arm in (claim.arm, claim.control)} == {"free", "held"}
    assert in_profile(demo, DEMO) is demo


def test_a_profile_may_judge_some_claims_only() -> None:
    assert [claim.name for claim in in_profile(STUDY, DEMO).claims] == ["held-is-slower"]
    both = in_profile(STUDY, replace(DEMO, claims=()))
    assert {"held-is-slower", "held-falls-and-free-does-not"} <= {claim.name for claim in both.claims}
    text = study_text("global-counters")
    with pytest.raises(UnknownNameError, match="held-is-slow'"):
        parse_study(text.replace('claims = ["held-is-slower"]', 'claims = ["held-is-slow"]'), "mine.toml")


def test_only_named_arms_are_run_even_of_the_whole_study() -> None:
    assert set(plan_of(STUDY, DEMO).arms) == {"free", "held"}


def test_an_arm_keeps_what_it_has_from_one_that_is_not_run() -> None:
    profile = replace(DEMO, measure_s={"free": 5, "indexed": 5})
    left = in_profile(STUDY, profile)
    assert set(left.arms) == {"free", "indexed"}
    whole, folded = (inherited_arm(study, profile, "indexed") for study in (STUDY, left))
    assert folded == whole
    assert folded.condition.horizon_held_by is not None


def test_changes_of_the_workload_add_up_when_an_arm_is_folded() -> None:
    change = WorkloadChange(clients=3)
    child = ArmFile(about="two at a time", builds_on="indexed", workload=change)
    study = replace(STUDY, arms=STUDY.arms | {"child": child})
    profile = replace(DEMO, measure_s={"free": 5, "child": 5})
    workload = inherited_arm(in_profile(study, profile), profile, "child").workload
    assert workload.clients == 3
    assert workload.fill == inherited_arm(STUDY, profile, "indexed").workload.fill


def test_published_windows_of_an_arm_that_is_not_run_go_and_the_claim_stays() -> None:
    windows = STUDY.claims[0].published_windows
    assert windows is not None
    claim = replace(STUDY.claims[0], published_windows=replace(windows, arm="indexed"))
    (left, *_) = in_profile(replace(STUDY, claims=(claim,)), DEMO).claims
    assert left.published_windows is None


def test_a_profile_without_any_claim_is_refused() -> None:
    text = study_text("global-counters").replace("measure_s = { free = 10, held = 30 }", "measure_s = { free = 10 }")
    with pytest.raises(StudyFileError, match=r"profiles\.demo\.measure_s has no arm .*, and no claim remains"):
        parse_study(text, "mine.toml")


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('{ horizon_held_by = "query" }', "{ release_at_s = 1.0 }", "need horizon_held_by"),
        ('{ horizon_held_by = "query" }', "{ time_outs = true }", "need horizon_held_by"),
        ("release_at_s = 4.0", "release_at_s = 0.0", "release_at_s must be above 0"),
        ("at_s = 2.0", "at_s = -2.0", "at_s of 0 or more"),
        ("every_s = 2.0", "every_s = 0.0", "every_s above 0"),
    ],
)
def test_moments_that_cannot_be_are_refused(right: str, wrong: str, words: str) -> None:
    text = study_text("global-counters")
    assert right in text
    with pytest.raises(StudyFileError, match=words):
        parse_study(text.replace(right, wrong, 1), "mine.toml")


def test_more_sessions_than_the_memory_bears_are_left_out_with_how_many_would_fit() -> None:
    full = SCALING.profiles["full"]
    suited = fitted(SCALING, 18, full, 16 * GIB)
    fit = sessions_that_fit(16 * GIB)
    assert 2000 <= fit < 5000
    assert "idle-13-2000" in suited.study.arms
    assert not {"idle-13-10000", "idle-14-10000", "active-13-5000"} & suited.study.arms.keys()
    assert "ten-thousand-idle-ones" not in {claim.name for claim in suited.study.claims}
    (doubt,) = suited.doubts
    assert doubt.kind is DoubtKind.ARM_LEFT_OUT
    assert f"or {fit:,} busy ones" in doubt_words(doubt).text
    assert sessions_that_fit(16 * GIB, IDLE_BYTES) > fit
    assert fitted(SCALING, 18, full, 256 * GIB).doubts == ()


def test_the_command_line_takes_a_profile_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "run", "global-counters", "--profile", "dema"]) == 1
    assert "did you mean demo" in capsys.readouterr().err
    assert run(["study", "run", "global-counters", "--profile", "demo", "--full"]) == 1
    assert "--profile and --full are mutually exclusive" in capsys.readouterr().err
    assert run(["study", "show", "global-counters"]) == 0
    shown = capsys.readouterr().out
    assert "--profile demo" in shown
    assert "--quick" in shown


def test_a_report_says_how_to_run_that_profile_again() -> None:
    info = replace(run_info(), profile="demo", seed=7)
    assert repeat_commands(info, "runs/x")[0][0] == "pgclinic study run global-counters --profile demo --seed 7"
