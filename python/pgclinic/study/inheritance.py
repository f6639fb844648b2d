"""What an arm of a study file is with all that it inherits: ``builds_on``, followed down to the first arm. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import asdict, replace

from pgclinic.errors import UnknownNameError
from pgclinic.model.study import ArmFile, Condition, Profile, Study, Workload, WorkloadChange
from pgclinic.model.trial import ServerSpec


@dataclass(frozen=True)
class InheritedArm:
    """An arm with nothing left to inherit. ``server`` is None where it runs on that of the whole run."""

    settings: dict[str, str]
    condition: Condition
    variables: dict[str, str]
    workload: Workload
    server: ServerSpec | None


def profile_of(study: Study, name: str) -> Profile:
    """The named profile. Raises UnknownNameError."""
    if name not in study.profiles:
        raise UnknownNameError("profile", name, study.profiles, where=study.name)
    return study.profiles[name]


def inherited_arm(
    study: Study, profile: Profile | None, name: str, extra_settings: Mapping[str, str] | None = None
) -> InheritedArm:
    """Follow ``builds_on`` down to the first arm; nearer values win, the user's own settings over all."""
    chain = []
    current: str | None = name
    while current is not None:
        chain.append(current)
        current = study.arms[current].builds_on
    settings: dict[str, str] = {}
    condition = Condition()
    variables: dict[str, str] = {}
    workload = study.workload
    server = None
    for link in reversed(chain):
        arm = study.arms[link]
        settings.update(arm.settings | (profile.settings.get(link, {}) if profile is not None else {}))
        condition = arm.condition if arm.condition is not None else condition
        variables.update(arm.variables)
        workload = _changed(workload, arm.workload)
        server = own_server(arm) or server
    settings.update(extra_settings or {})
    return InheritedArm(settings=settings, condition=condition, variables=variables, workload=workload, server=server)


def own_server(arm: ArmFile) -> ServerSpec | None:
    """The server that an arm's file names for it alone."""
    own = ServerSpec(version=arm.version, bindir=arm.bindir, dsn=arm.dsn)
    return own if own != ServerSpec() else None


def _changed(workload: Workload, change: WorkloadChange | None) -> Workload:
    if change is None:
        return workload
    return replace(workload, **{key: value for key, value in asdict(change).items() if value is not None})
