"""The part of a study that one profile runs; arms that are left take over what they inherit from arms that are not.
Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import asdict, replace

from pgclinic.model.study import ArmFile, Claim, Profile, Study, WorkloadChange
from pgclinic.study.inheritance import own_server


def in_profile(study: Study, profile: Profile) -> Study:
    """The study with the arms that the profile runs, and what it judges that needs no other."""
    gone = {name for name in study.arms if name not in profile.measure_s}
    asked = [claim for claim in study.claims if not profile.claims or claim.name in profile.claims]
    if not gone and len(asked) == len(study.claims):
        return study
    return without_arms(replace(study, claims=tuple(asked)), gone, profile)


def without_arms(study: Study, gone: Collection[str], profile: Profile | None = None) -> Study:
    """The study without these arms and the claims that need them.

    Each arm that is left takes over what it inherits from one that is not. A sweep goes on with the levels that are
    left, if these are three.
    """
    claims = tuple(kept for claim in study.claims if (kept := _without(claim, gone)) is not None)
    arms = {name: _whole(arm, study.arms, gone, profile) for name, arm in study.arms.items() if name not in gone}
    question = study.question
    if question is not None and (question.arm in gone or question.control in gone):
        question = None
    return replace(study, arms=arms, claims=claims, question=question)


def _whole(arm: ArmFile, arms: Mapping[str, ArmFile], gone: Collection[str], profile: Profile | None) -> ArmFile:
    while (parent := arm.builds_on) is not None and parent in gone:
        own = profile.settings.get(parent, {}) if profile is not None else {}
        arm = _taken_over(arm, arms[parent], own)
    return arm


def _taken_over(arm: ArmFile, parent: ArmFile, own: Mapping[str, str]) -> ArmFile:
    """The arm with all that it has from its parent, whose settings in the profile are ``own``."""
    server = arm if own_server(arm) is not None else parent
    return replace(
        arm,
        builds_on=parent.builds_on,
        settings=parent.settings | dict(own) | arm.settings,
        condition=arm.condition if arm.condition is not None else parent.condition,
        variables=parent.variables | arm.variables,
        workload=_both(parent.workload, arm.workload),
        version=server.version,
        bindir=server.bindir,
        dsn=server.dsn,
    )


def _both(first: WorkloadChange | None, then: WorkloadChange | None) -> WorkloadChange | None:
    """One change of the workload after the other."""
    if first is None or then is None:
        return first or then
    return replace(first, **{key: value for key, value in asdict(then).items() if value is not None})


def _without(claim: Claim, gone: Collection[str]) -> Claim | None:
    """The claim as far as its arms are left; None where too little is."""
    if claim.levels:
        levels = tuple(arm for arm in claim.levels if arm not in gone)
        return replace(claim, levels=levels, control=levels[0], arm=levels[-1]) if len(levels) >= 3 else None
    if claim.arm in gone or claim.control in gone:
        return None
    windows = claim.published_windows
    return replace(claim, published_windows=None) if windows is not None and windows.arm in gone else claim
