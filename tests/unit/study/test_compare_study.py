"""Two arms -> a study with one open question."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import judge, plan_of
from pgclinic.errors import StudyFileError, UsageError
from pgclinic.judge.verdict import decided
from pgclinic.load.script_argument import parse_script
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.load import Protocol
from pgclinic.model.study import Claim, Study, WarmUpEnd
from pgclinic.model.traffic import ScriptTraffic, Traffic
from pgclinic.model.trial import ServerSpec
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.study.compare import PROFILE, A, B, Common, Length, comparison_study, from_study, with_room
from pgclinic.study.compare_arms import ArmAsked, parse_arm
from pgclinic.study.duration import block_s
from pgclinic.study.read import read_study

LENGTH = Length(warm_up_s=2, measure_s=10, blocks=5)
TPCB = parse_script("builtin:tpcb-like")


def study_of(
    a: tuple[str, ...] = (), b: tuple[str, ...] = (), length: Length = LENGTH, common: Common | None = None
) -> Study:
    arms: list[ArmAsked] = [parse_arm(a, "--a"), parse_arm(b, "--b")]
    return comparison_study(*arms, common or Common(scripts=(), default_script=TPCB), length, "2026-11-21")


def test_the_study_asks_one_open_question() -> None:
    study = study_of(b=("set:work_mem=64MB",))
    (question,) = study.questions
    assert (question.arm, question.control, question.is_open) == (B, A, True)
    assert study.claims == ()
    assert not isinstance(question, Claim)
    assert list(study.arms) == [A, B]
    assert study.arms[B].settings == {"work_mem": "64MB"}
    assert study.workload.scripts == (TPCB,)
    assert "pgbench_accounts" in study.workload.fill


def names(traffic: Traffic) -> list[str]:
    assert isinstance(traffic, ScriptTraffic)
    return [script.name for script in traffic.scripts]


def test_arms_get_what_is_theirs_and_what_is_common() -> None:
    common = Common(
        scripts=(parse_script("builtin:select-only"),),
        default_script=TPCB,
        scale=3,
        clients=7,
        threads=9,
        protocol=Protocol.PREPARED,
        settings={"fsync": "off", "work_mem": "4MB"},
    )
    study = study_of(("set:work_mem=8MB", "script=builtin:simple"), ("var:x=1", "clients=2"), common=common)
    specs = plan_of(study, study.profiles[PROFILE]).arms
    assert specs[A].settings == {"fsync": "off", "work_mem": "8MB"}
    assert specs[B].settings == {"fsync": "off", "work_mem": "4MB"}
    assert names(specs[A].traffic) == ["simple-update"]
    assert names(specs[B].traffic) == ["select-only"]
    assert (specs[A].load.variables, specs[B].load.variables) == ({"scale": "3"}, {"scale": "3", "x": "1"})
    assert (specs[A].load.clients, specs[B].load.clients) == (7, 2)
    assert specs[A].load.threads == 7
    assert specs[A].load.protocol is Protocol.PREPARED
    dataset = specs[A].dataset
    assert isinstance(dataset, SqlDataset) and "generate_series(1, 300000)" in dataset.statements


def test_each_arm_gets_its_own_server() -> None:
    study = study_of()
    arms = {A: replace(study.arms[A], version="13.3"), B: replace(study.arms[B], dsn="host=there")}
    study = replace(study, arms=arms)
    assert {name: arm.server for name, arm in plan_of(study, study.profiles[PROFILE]).arms.items()} == {
        A: ServerSpec(version="13.3"),
        B: ServerSpec(dsn="host=there"),
    }


def test_many_sessions_get_room_in_both_arms_but_not_on_servers_of_others() -> None:
    study = with_room(study_of(("condition:idle=200",), ("set:work_mem=4MB",)))
    assert {arm.settings.get("max_connections") for arm in study.arms.values()} == {"221"}
    assert "max_connections" not in with_room(study_of(b=("clients=50",))).arms[B].settings
    asked = study_of(b=("clients=300", "set:max_connections=400"))
    assert with_room(asked).arms[B].settings["max_connections"] == "400"
    there = replace(asked, arms={name: replace(arm, dsn="host=there") for name, arm in asked.arms.items()})
    assert "max_connections" not in with_room(there).arms[A].settings


def test_tpcc_brings_its_own_data() -> None:
    tpcc = Common(scripts=(), default_script=TPCB, warehouses=2)
    study = study_of(b=("set:fsync=off",), common=tpcc)
    assert study.workload.tpcc is not None
    assert (study.workload.scripts, study.workload.fill, study.workload.clients) == ((), "", 20)
    assert study.profiles[PROFILE].warehouses == 2
    for words in (("script=builtin:select-only",),):
        with pytest.raises(UsageError, match="--b script and --tpcc are mutually exclusive"):
            study_of(b=words, common=tpcc)


def test_a_settled_number_of_blocks_has_no_budget_that_could_end_it() -> None:
    profile = study_of(length=LENGTH).profiles[PROFILE]
    assert (profile.blocks_min, profile.blocks_max) == (5, 5)
    assert profile.budget_s > 86_400
    for blocks in (1, 3, 100_000):
        with pytest.raises(UsageError, match="--blocks must be from 4"):
            study_of(length=Length(warm_up_s=1, measure_s=1, blocks=blocks))


def test_a_budget_leaves_the_number_open() -> None:
    profile = study_of(length=Length(warm_up_s=2, measure_s=10, budget_s=300)).profiles[PROFILE]
    assert profile.blocks_min == 5 < profile.blocks_max
    assert profile.budget_s == 300
    with pytest.raises(UsageError, match="5 are the fewest that bound a ratio") as raised:
        study_of(length=Length(warm_up_s=2, measure_s=10, budget_s=60))
    assert raised.value.hint is not None
    assert "--budget 132s" in raised.value.hint


def test_a_warm_up_by_state_is_planned_as_most_are() -> None:
    length = Length(warm_up_s=60, warm_up_ends=WarmUpEnd.STEADY, measure_s=10, budget_s=480)
    profile = study_of(length=length).profiles[PROFILE]
    assert (profile.warm_up_s, profile.warm_up_ends) == (60, WarmUpEnd.STEADY)
    # A block is two trials of 27 + 10 s.
    assert profile.blocks_max == 7
    assert block_s(profile) == pytest.approx(2 * (27 + 10), abs=4)
    with pytest.raises(StudyFileError, match="arm a does not come to rest"):
        study_of(a=("condition:held=session",), length=length)


def test_an_open_question_is_settled_by_either_answer() -> None:
    study = study_of()
    verdict = judge(study, (), study.profiles[PROFILE])
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE
    assert not decided(verdict)


def test_a_study_file_with_two_arms_is_compared_as_a_and_b() -> None:
    shipped, _ = read_study("global-counters")
    names = ("held", "free") if "held" in shipped.arms else tuple(shipped.arms)[:2]
    two = replace(shipped, arms={name: shipped.arms[name] for name in names})
    free = next(name for name in names if two.arms[name].builds_on is None)
    study = from_study(two, LENGTH)
    assert list(study.arms) == [A, B]
    assert [arm.about for arm in study.arms.values()] == list(names)
    based = [arm.builds_on for arm in study.arms.values() if arm.builds_on is not None]
    assert based == [A if names[0] == free else B]
    assert len(study.questions) == 1
    assert study.workload == shipped.workload
    with pytest.raises(UsageError, match="compare needs two"):
        from_study(replace(two, arms={**two.arms, "third": two.arms[free]}), LENGTH)
