"""Who decides whether blocks are interleaved: the user first, then what is safe."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import judged_plan
from fixtures.records import global_counters
from pgclinic.cli.experiment_start import with_block_mode
from pgclinic.errors import UsageError
from pgclinic.experiment.resolve import UNRESOLVED_TARGET
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.load import LoadSpec, Script
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.study import Condition
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.trial import ServerSpec

GB = 2**30


def plan(settings: dict[str, str] | None = None, measure_s: float = 10.0) -> ExperimentPlan:
    def arm(settings: dict[str, str], measure_s: float) -> ArmSpec:
        return ArmSpec(
            server=ServerSpec(version="18.6"),
            settings=settings,
            dataset=SqlDataset(),
            traffic=ScriptTraffic(scripts=(Script(name="s", text="select 1;"),)),
            condition=Condition(),
            load=LoadSpec(target=UNRESOLVED_TARGET, clients=4, warm_up_s=2.0, measure_s=measure_s),
        )

    study = replace(global_counters(), claims=())
    return replace(judged_plan(study), arms={"a": arm({}, 10.0), "b": arm(settings or {}, measure_s)})


@pytest.mark.parametrize(
    ("settings", "asked", "interleaved", "line"),
    [
        ({}, None, True, "blocks are interleaved: both servers are up, and the load alternates every 1 s"),
        ({}, False, False, "blocks are sequential"),
        ({"fsync": "off"}, None, False, "blocks are sequential: the arms differ in fsync"),
        ({"fsync": "off"}, True, True, "as asked; the arms differ in fsync"),
        ({"fsync": "off"}, False, False, "blocks are sequential"),
    ],
)
def test_the_user_decides_and_else_what_is_safe(
    settings: dict[str, str], asked: bool | None, interleaved: bool, line: str
) -> None:
    chosen, said = with_block_mode(plan(settings), 8 * GB, asked=asked)
    assert chosen.profile.interleaved is interleaved
    assert line in said


def test_arms_that_cannot_take_turns_are_refused_only_where_that_is_asked_for() -> None:
    with pytest.raises(UsageError, match="cannot be interleaved: the arms are measured for different times"):
        with_block_mode(plan(measure_s=30.0), 8 * GB, asked=True)
    chosen, said = with_block_mode(plan(measure_s=30.0), 8 * GB, asked=None)
    assert not chosen.profile.interleaved and said.endswith("the arms are measured for different times")
