"""The plan of a stored run, as it was written: its claims are those of that day."""

from __future__ import annotations

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.model.plan import ExperimentPlan
from pgclinic.store.run_folder import StoredRun


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
