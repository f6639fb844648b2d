"""run.json of a run that begins now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pgclinic.load.tool import this_tool
from pgclinic.model.machine import Machine
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.trial import ServerSpec


def new_run_info(
    kind: RunKind,
    plan: ExperimentPlan,
    machine: Machine,
    *,
    command: Sequence[str],
    server: str,
    wanted: ServerSpec,
    settings: Mapping[str, str] | None = None,
    calibration_s: float = 0.0,
) -> RunInfo:
    """``command`` and ``server``, which is in words, have no secrets."""
    return RunInfo(
        command=tuple(command),
        kind=kind,
        name=plan.study.name,
        seed=plan.seed,
        profile=plan.profile_name,
        budget_s=plan.profile.budget_s,
        server=server,
        started_epoch_us=time.time_ns() // 1000,
        machine=machine,
        wanted=wanted,
        settings=dict(settings or {}),
        calibration_s=calibration_s,
        tool=this_tool(),
    )
