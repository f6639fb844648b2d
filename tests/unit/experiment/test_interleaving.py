"""When the blocks of a plan are interleaved, and what a run says when they are not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.planned import judged_plan
from fixtures.records import global_counters
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.resolve import UNRESOLVED_TARGET
from pgclinic.model.dataset import PgbenchDataset, SqlDataset, TpccDataset
from pgclinic.model.interleaving import SequentialKind
from pgclinic.model.load import LoadSpec, Script
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.study import Condition, Holder, WarmUpEnd
from pgclinic.model.traffic import ScriptTraffic, TpccTraffic
from pgclinic.model.trial import ServerSpec
from pgclinic.report.words.interleaving import sequential_text

GB = 2**30


def arm(**changes: Any) -> ArmSpec:
    values: dict[str, Any] = {
        "server": ServerSpec(version="18.6"),
        "settings": {},
        "dataset": SqlDataset(),
        "traffic": ScriptTraffic(scripts=(Script(name="s", text="select 1;"),)),
        "condition": Condition(),
        "load": LoadSpec(target=UNRESOLVED_TARGET, clients=10, warm_up_s=2.0, measure_s=10.0),
        **changes,
    }
    return ArmSpec(**values)


def plan(a: ArmSpec, b: ArmSpec) -> ExperimentPlan:
    study = global_counters()
    return replace(judged_plan(replace(study, claims=())), arms={"a": a, "b": b})


def test_arms_that_differ_in_what_works_in_their_own_windows_alone_are_interleaved() -> None:
    other = arm(settings={"work_mem": "64MB", "random_page_cost": "1.1"}, server=ServerSpec(version="17.2"))
    assert why_sequential(plan(arm(), other), 8 * GB) is None
    update = ScriptTraffic(scripts=(Script(name="u", text="update t set a = a + 1;"),))
    assert why_sequential(plan(arm(traffic=update), arm(traffic=update)), None) is None


@pytest.mark.parametrize(
    ("other", "kind", "words"),
    [
        (arm(server=ServerSpec(dsn="host=db")), SequentialKind.ATTACHED_SERVER, "existing server"),
        (arm(condition=Condition(horizon_held_by=Holder.SESSION)), SequentialKind.CONDITION, "condition of arm b"),
        (arm(condition=Condition(idle_sessions=100)), SequentialKind.CONDITION, "condition of arm b"),
        (arm(condition=Condition(checkpoint_every_s=5.0)), SequentialKind.CONDITION, "condition of arm b"),
        (arm(warm_up_ends=WarmUpEnd.STEADY), SequentialKind.STEADY_WARM_UP, "warm-up"),
        (arm(traffic=TpccTraffic(waits=True)), SequentialKind.THINK_TIMES, "think times"),
        (
            arm(load=LoadSpec(target=UNRESOLVED_TARGET, clients=10, warm_up_s=2.0, measure_s=30.0)),
            SequentialKind.UNEQUAL_TIMES,
            "different times",
        ),
        (arm(settings={"autovacuum_naptime": "1s"}), SequentialKind.BACKGROUND_SETTING, "autovacuum_naptime"),
        (arm(settings={"checkpoint_timeout": "30s"}), SequentialKind.BACKGROUND_SETTING, "checkpoint_timeout"),
        (arm(settings={"max_wal_size": "64MB"}), SequentialKind.BACKGROUND_SETTING, "max_wal_size"),
        (arm(settings={"synchronous_commit": "off"}), SequentialKind.BACKGROUND_SETTING, "synchronous_commit"),
        (arm(settings={"shared_buffers": "6GB"}), SequentialKind.MEMORY, "6.7 GB of 8.6 GB"),
        (arm(dataset=PgbenchDataset(scale=400)), SequentialKind.MEMORY, "of 8.6 GB"),
        (arm(dataset=TpccDataset(warehouses=100)), SequentialKind.MEMORY, "of 8.6 GB"),
    ],
)
def test_an_arm_that_would_work_in_the_windows_of_the_other_is_not(
    other: ArmSpec, kind: SequentialKind, words: str
) -> None:
    found = why_sequential(plan(arm(), other), 8 * GB)
    assert found is not None and found.kind is kind
    assert words in sequential_text(found) and sequential_text(found).startswith("blocks are sequential: ")


def test_the_same_background_settings_on_both_are_no_reason() -> None:
    both = arm(settings={"autovacuum": "off", "max_wal_size": "4GB"})
    assert why_sequential(plan(both, both), 8 * GB) is None


def test_a_decline_is_followed_on_one_server_alone() -> None:
    study = global_counters()
    claim = replace(study.claims[0], measure="decline")
    declining = replace(judged_plan(replace(study, claims=(claim,))), arms={"a": arm(), "b": arm()})
    found = why_sequential(declining, 8 * GB)
    assert found is not None and found.kind is SequentialKind.DECLINE


def test_what_the_user_wanted_needs_no_reason() -> None:
    assert sequential_text(None) == "blocks are sequential"
