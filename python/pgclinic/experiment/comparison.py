"""From a question about arms and the servers of these arms to the plan of its run."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from pgclinic.experiment.resolve import resolve
from pgclinic.experiment.servers import ChosenServer
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.study import Study
from pgclinic.study.compare import PROFILE, with_room


def comparison_plan(
    study: Study,
    servers: Mapping[str, ChosenServer],
    *,
    seed: int,
    memory_bytes: int | None,
    fidelity: Fidelity | None = None,
) -> ExperimentPlan:
    """The plan, which asks nothing where an arm does not fit this machine; ``left_out`` then says why.

    The first of ``servers`` is that of the whole run.
    """
    first = next(iter(servers.values()))
    plan = resolve(
        with_room(_with_servers(study, servers)),
        PROFILE,
        seed=seed,
        server=first.spec,
        major=first.major,
        memory_bytes=memory_bytes,
    )
    return replace(plan, fidelity=fidelity)


def _with_servers(study: Study, servers: Mapping[str, ChosenServer]) -> Study:
    """Every arm with the one literal server that it gets, so that the stored plan says it."""
    arms = {}
    for name, arm in study.arms.items():
        spec = servers[name].spec
        arms[name] = replace(arm, version=spec.version, bindir=spec.bindir, dsn=spec.dsn)
    return replace(study, arms=arms)
