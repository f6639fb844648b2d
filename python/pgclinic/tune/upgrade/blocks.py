"""The workload on both versions in blocks of trials: the road of every comparison, with both releases as its arms."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.on_twin import OnTwin, study_on_twin
from pgclinic.experiment.servers import ChosenServer
from pgclinic.experiment.twin_check import COUNTING, CheckedTwin
from pgclinic.load.script_argument import parse_script
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.upgrade import StatementUpgraded
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.store.machine import read_machine
from pgclinic.study.compare import A, B, Common, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.study.duration import MEASURE_S_MIN, OVERHEAD_S_GUESS

WARM_UP_S, MEASURE_S_MAX = 2.0, 10.0
_ARMS = 2
#: Trials are so long that the fewest blocks take no more of the time: a busy machine starts servers slowly.
_SIZED = 0.6


def needed_s() -> float:
    """The least time in which blocks give an interval."""
    return first_bounded() * _ARMS * (MEASURE_S_MIN + WARM_UP_S + OVERHEAD_S_GUESS)


def upgrade_plan(
    servers: tuple[ChosenServer, ChosenServer],
    settings: tuple[Mapping[str, str], Mapping[str, str]],
    checked: CheckedTwin,
    dataset: TwinDataset,
    statements: Sequence[StatementUpgraded],
    *,
    clients: int | None,
    seed: int,
    budget_s: float,
) -> ExperimentPlan:
    """Arm a is the original's release, arm b the target's; each has those settings of the original that it knows.

    ``budget_s`` is for the blocks. The plan asks nothing where an arm does not fit this machine. Raises UsageError.
    """
    arm_a, arm_b = (
        ArmAsked(version=server.spec.version, settings=dict(own)) for server, own in zip(servers, settings, strict=True)
    )
    study = comparison_study(
        arm_a,
        arm_b,
        Common(scripts=(), default_script=parse_script("builtin:tpcb-like"), twin=dataset),
        Length(
            warm_up_s=WARM_UP_S, measure_s=MEASURE_S_MAX, budget_s=max(_SIZED * budget_s, needed_s()), may_shorten=True
        ),
        time.strftime("%Y-%m-%d"),
    )
    study = study_on_twin(study, OnTwin(settings=dict(COUNTING), clients=clients or checked.clients, checked=checked))
    before, after = (server.words for server in servers)
    study = replace(
        study,
        name="upgrade",
        title=f"{dataset.name}: {before} against {after}",
        about="The twin of a live database on two major versions; nothing is claimed about either.",
        arms={A: replace(study.arms[A], about=before), B: replace(study.arms[B], about=after)},
    )
    memory_bytes = read_machine().memory_bytes
    plan = comparison_plan(
        study,
        {A: servers[0], B: servers[1]},
        seed=seed,
        memory_bytes=memory_bytes,
        fidelity=with_executions(checked.fidelity, statements),
    )
    profile = replace(plan.profile, budget_s=budget_s, interleaved=why_sequential(plan, memory_bytes) is None)
    return plan.with_profile(profile)


def with_executions(fidelity: Fidelity, statements: Sequence[StatementUpgraded]) -> Fidelity:
    """With what the executions show of statements that run too seldom for a block, or that the twin does not reproduce:
    their ratio of new to old. Pure."""
    ratios = {one.query_id: one.ratio for one in statements if one.ratio is not None}
    return replace(
        fidelity,
        statements=tuple(replace(one, tried_ratio=ratios.get(one.query_id)) for one in fidelity.statements),
        omitted=tuple(replace(one, tried_ratio=ratios.get(one.query_id)) for one in fidelity.omitted),
    )
