"""The plan of a stored run, as it was written.

Its claims are those of that day. ``with_claims_of`` puts the claims of a later edition of the study in their place.
"""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.study import Counter, Study
from pgclinic.store.run_folder import StoredRun
from pgclinic.study.in_profile import without_arms


def plan_of(stored: StoredRun) -> ExperimentPlan:
    """The plan of the run. Raises UsageError for a run of ``bench``, which has none, RunFailedError if damaged."""
    plan = stored.plan
    if plan is None:
        raise UsageError(f"{stored.path} is the run of pgclinic {stored.info.kind.value}, which has no plan")
    if plan.profile_name not in plan.study.profiles:
        raise RunFailedError(
            f"{stored.path / 'plan.json'} is damaged: it has no profile {plan.profile_name!r}",
            hint="restore it from a copy",
        )
    return plan


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
