"""A stored run asks for leave by what its arms send, whatever its study says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import plan_of
from fixtures.records import global_counters
from pgclinic.errors import UsageError
from pgclinic.experiment.prepare import refuse_shell_commands, refuse_stored_shell_commands
from pgclinic.model.load import Script
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.traffic import ScriptTraffic


def plan_with(text: str) -> ExperimentPlan:
    study = global_counters()
    plan = plan_of(study, study.profiles["quick"])
    arms = {
        name: replace(arm, traffic=ScriptTraffic(scripts=(Script(name="hidden", text=text),)))
        for name, arm in plan.arms.items()
    }
    return replace(plan, arms=arms)


def test_a_command_in_the_arms_alone_is_refused_until_it_is_allowed() -> None:
    plan = plan_with("select 1;\n\\shell true")
    refuse_shell_commands(plan.study, plan.profile, allowed=False)
    with pytest.raises(UsageError, match="script hidden, line 2") as refused:
        refuse_stored_shell_commands(plan, allowed=False)
    assert "--allow-shell" in (refused.value.hint or "")
    refuse_stored_shell_commands(plan, allowed=True)


def test_scripts_without_a_command_need_no_leave() -> None:
    """Nothing is raised."""
    refuse_stored_shell_commands(plan_with("select 1;"), allowed=False)
