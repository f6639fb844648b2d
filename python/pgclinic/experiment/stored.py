"""The plan of a stored run: as it was written, or rebuilt for a run of format 1, which has a study file instead.

Its claims are those of that day. ``with_claims_of`` puts the claims of a later edition of the study in their place.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from pgclinic.errors import RunFailedError
from pgclinic.experiment.resolve import resolve
from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.study import Counter, Study
from pgclinic.model.trial import ServerSpec
from pgclinic.model.version import parse_version
from pgclinic.store.run_folder import StoredRun
from pgclinic.study.in_profile import without_arms
from pgclinic.study.read import parse_study

_VERSION_IN_WORDS = re.compile(r"PostgreSQL ([0-9][0-9.]*)")


def plan_of(stored: StoredRun) -> ExperimentPlan:
    """The plan of the run. Raises RunFailedError if it is damaged, or a run of format 1 does not show what was run."""
    if stored.plan is not None:
        if stored.plan.profile_name not in stored.plan.study.profiles:
            raise RunFailedError(
                f"{stored.path / 'plan.json'} is damaged: it has no profile {stored.plan.profile_name!r}",
                hint="restore it from a copy",
            )
        return stored.plan
    info, file = stored.info, stored.path / "study.toml"
    study = parse_study(stored.study_toml or "", str(file))
    if info.profile not in study.profiles:
        raise RunFailedError(f"{file} has no profile {info.profile}, which {stored.path / 'run.json'} names")
    return resolve(
        study,
        info.profile,
        seed=info.seed,
        server=info.wanted or ServerSpec(),
        major=_major(stored),
        memory_bytes=info.machine.memory_bytes,
        settings=info.settings,
    )


def with_claims_of(plan: ExperimentPlan, study: Study) -> ExperimentPlan:
    """The plan with the claims of ``study`` that its arms and what it recorded can answer.

    A claim that was revised after the run, as its revisions say, is judged by the trials that there are. What was run
    stays as it was stored.
    """
    profile = study.profiles.get(plan.profile_name, plan.profile)
    gone = {arm for arm in study.arms if arm not in plan.study.arms or arm not in profile.measure_s}
    asked = tuple(claim for claim in study.claims if not profile.claims or claim.name in profile.claims)
    left = without_arms(replace(study, claims=asked), gone, profile).claims
    recorded = {*Counter, *OF_THE_LOAD, *plan.study.workload.custom_metrics}
    known = tuple(
        claim for claim in left if {claim.measure, *(mechanism.counter for mechanism in claim.mechanisms)} <= recorded
    )
    return replace(plan, study=replace(plan.study, claims=known))


def _major(stored: StoredRun) -> int:
    """The version that was measured; before the first trial the one that was going to be."""
    versions = sorted({one.server_version for one in stored.trials if one.server_version is not None})
    if versions:
        return parse_version(versions[0]).major
    named = _VERSION_IN_WORDS.search(stored.info.server)
    if named is None:
        raise RunFailedError(f"{stored.path} has neither a trial nor the version of a server")
    return parse_version(named.group(1)).major
