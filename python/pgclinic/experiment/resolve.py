"""Study -> ExperimentPlan: the only place where configuration is resolved. Every value that comes out is a literal."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from pgclinic.experiment.fit import fitted
from pgclinic.model.dataset import AttachedDataset, Dataset, SqlDataset, TpccDataset
from pgclinic.model.load import LoadSpec, Target
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.study import Profile, Study
from pgclinic.model.traffic import ScriptTraffic, TpccTraffic, Traffic
from pgclinic.model.trial import ServerSpec
from pgclinic.settings.names import canonical_name, canonical_names
from pgclinic.study.in_profile import in_profile
from pgclinic.study.inheritance import InheritedArm

#: Filled in by the trial once its server is up; a plan on disk shows that none was known yet.
UNRESOLVED_TARGET = Target(host="", port=0, user="", database="")


def resolve(
    study: Study,
    profile_name: str,
    *,
    seed: int,
    server: ServerSpec,
    major: int,
    memory_bytes: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> ExperimentPlan:
    """The profile's part of the study on ``server``, of which ``major`` is the version, and on this machine.

    ``server`` is that of all arms that name none themselves; ``settings`` are the user's own, over those of all arms.
    What this version or machine cannot run is left out, with the claims about it; a plan may so be left without any.
    Raises SettingError for a setting that is given twice.
    """
    study = _with_canonical_names(study)
    profile = study.profiles[profile_name]
    own = canonical_names(settings or {})
    suited = fitted(in_profile(study, profile), major, profile, memory_bytes, own)
    arms = {name: _arm(arm, profile, name, server) for name, arm in suited.arms.items() if name in profile.measure_s}
    profile = replace(profile, measure_s={name: profile.measure_s[name] for name in arms})
    return ExperimentPlan(
        study=replace(suited.study, profiles={profile_name: profile}),
        profile_name=profile_name,
        arms=arms,
        seed=seed,
        left_out=suited.doubts,
        # A claim names its cause itself; a question is answered with the cause.
        wants_plans=any(claim.is_open for claim in suited.study.questions),
    )


def _with_canonical_names(study: Study) -> Study:
    """Settings under the names that pg_settings has: what decides on one looks for it by that name alone.

    Raises SettingError where an arm gives one twice.
    """
    return replace(
        study,
        arms={name: replace(arm, settings=canonical_names(arm.settings)) for name, arm in study.arms.items()},
        since={canonical_name(name): since for name, since in study.since.items()},
        profiles={
            name: replace(profile, settings={arm: canonical_names(own) for arm, own in profile.settings.items()})
            for name, profile in study.profiles.items()
        },
    )


def _arm(arm: InheritedArm, profile: Profile, name: str, server: ServerSpec) -> ArmSpec:
    own = server
    if arm.server is not None:
        # What may be done to existing servers is the whole run's.
        own = replace(arm.server, existing=server.existing, allow_writes=server.allow_writes)
    workload = arm.workload
    return ArmSpec(
        server=own,
        settings=arm.settings,
        dataset=_dataset(arm, profile, own),
        traffic=_traffic(arm, profile),
        condition=arm.condition,
        load=LoadSpec(
            target=UNRESOLVED_TARGET,
            clients=profile.clients or workload.clients,
            threads=profile.threads or workload.threads,
            protocol=workload.protocol,
            warm_up_s=profile.warm_up_s,
            measure_s=profile.measure_s[name],
            variables=arm.variables,
            max_tries=workload.tpcc.max_tries if workload.tpcc is not None else 1,
        ),
        probe=workload.probe,
        custom_metrics=workload.custom_metrics,
        pages=workload.pages,
        warm_up_ends=profile.warm_up_ends,
    )


def _dataset(arm: InheritedArm, profile: Profile, server: ServerSpec) -> Dataset:
    if arm.workload.tpcc is not None and profile.warehouses is not None:
        return TpccDataset(warehouses=profile.warehouses)
    workload = arm.workload
    if server.existing and not workload.fill.strip():
        return AttachedDataset()
    if workload.twin is not None:
        return replace(workload.twin, changes=workload.changes)
    return SqlDataset(statements="\n".join(part for part in (workload.fill, workload.changes) if part))


def _traffic(arm: InheritedArm, profile: Profile) -> Traffic:
    tpcc = arm.workload.tpcc
    if tpcc is None or profile.warehouses is None:
        return ScriptTraffic(scripts=arm.workload.scripts)
    return TpccTraffic(convention=tpcc.convention, isolation=profile.isolation or tpcc.isolation)
