"""A study as one server on one machine can run it: what cannot be is replaced or left out, and it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import asdict, replace

from pgclinic.model.study import ArmFile, Claim, Profile, Study, WorkloadChange
from pgclinic.model.trial import Doubt, DoubtKind
from pgclinic.pg.values import parse_integer
from pgclinic.study.expand import own_server

#: A pool that takes more than this share of the memory leaves too little for what it is measured with.
MEMORY_SHARE = 0.5
_BUFFER_BYTES = 8192

#: Sessions may have this share of the memory, at so much each; a fresh one has 1.4 MB for itself on 18, others more.
SESSIONS_SHARE = 0.6
IDLE_BYTES = 14 * 2**20 // 10
BUSY_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Fitted:
    """The study without what cannot be run, and a doubt for each kind of thing that was left out."""

    study: Study
    doubts: tuple[Doubt, ...]


def fitted(study: Study, major: int, profile: Profile | None = None, memory_bytes: int | None = None) -> Fitted:
    """Apply the study's ``since``, and leave out arms whose shared_buffers or sessions this machine cannot hold.

    An arm that keeps none of its own settings is the arm it builds on: it goes, and the claims about it go with it.
    A sweep goes on with the levels that are left, if these are three.
    """
    arms, missing, same = _without_newer(study, major)
    too_large = _too_large(study, arms, major, profile, memory_bytes)
    too_many = _too_many(arms, memory_bytes)
    gone = {**dict.fromkeys(same, ""), **too_large, **too_many}
    if not missing and not gone:
        return Fitted(study, ())
    claims = tuple(kept for claim in study.claims if (kept := _without(claim, gone)) is not None)
    doubts = []
    if missing:
        doubts.append(_version_doubt(missing, same, major))
    if too_large:
        doubts.append(_memory_doubt(too_large))
    if too_many:
        doubts.append(_sessions_doubt(too_many, memory_bytes or 0))
    return Fitted(replace(study, arms=_folded(arms, gone, profile), claims=claims), tuple(doubts))


def in_profile(study: Study, profile: Profile) -> Study:
    """The study with the arms that the profile runs, and the claims that it judges and that need no other."""
    gone = {name: "" for name in study.arms if name not in profile.measure_s}
    asked = [claim for claim in study.claims if not profile.claims or claim.name in profile.claims]
    if not gone and len(asked) == len(study.claims):
        return study
    claims = tuple(kept for claim in asked if (kept := _without(claim, gone)) is not None)
    return replace(study, arms=_folded(study.arms, gone, profile), claims=claims)


def _without_newer(study: Study, major: int) -> tuple[dict[str, ArmFile], list[str], list[str]]:
    """Arms with the settings that this version has; what was left out in words; arms of which nothing is left."""
    missing: dict[str, str] = {}
    arms, same = {}, []
    for name, arm in study.arms.items():
        # An arm with a version of its own is fitted to that one; ``since`` is about the version of the run.
        settings = {}
        for key, value in arm.settings.items():
            since = study.since.get(key)
            if since is None or major >= since.major:
                settings[key] = value
                continue
            instead = f"{since.otherwise} instead" if since.otherwise is not None else "left out"
            missing[key] = f"{key} = {value} (needs {since.major}; {instead})"
            if since.otherwise is not None:
                settings[key] = since.otherwise
        if arm.settings and not settings and arm.builds_on is not None and arm.condition is None:
            same.append(name)
        arms[name] = replace(arm, settings=settings)
    return arms, list(missing.values()), same


def _too_large(
    study: Study, arms: Mapping[str, ArmFile], major: int, profile: Profile | None, memory_bytes: int | None
) -> dict[str, str]:
    """Arms, by name, whose own shared_buffers are more than the machine should give, and how large those are."""
    found = {}
    for name in study.arms:
        own = arms[name].settings | (profile.settings.get(name, {}) if profile is not None else {})
        asked = own.get("shared_buffers")
        if asked is None or memory_bytes is None:
            continue
        try:
            pool_bytes = parse_integer(asked, "8kB", major) * _BUFFER_BYTES
        except ValueError:
            # The check of settings says what is wrong with it.
            continue
        if pool_bytes > MEMORY_SHARE * memory_bytes:
            found[name] = asked
    return found


def _too_many(arms: Mapping[str, ArmFile], memory_bytes: int | None) -> dict[str, int]:
    """Arms, by name, with more sessions, idle and busy, than there is memory for, and how many those are."""
    if memory_bytes is None:
        return {}
    sessions = {name: _sessions(arm) for name, arm in arms.items()}
    room = SESSIONS_SHARE * memory_bytes
    return {
        name: idle + busy for name, (idle, busy) in sessions.items() if idle * IDLE_BYTES + busy * BUSY_BYTES > room
    }


def _sessions(arm: ArmFile) -> tuple[int, int]:
    """Idle and busy ones that the arm itself asks for."""
    idle = arm.condition.idle_sessions if arm.condition is not None else 0
    busy = arm.workload.clients if arm.workload is not None else None
    return idle, busy or 0


def sessions_that_fit(memory_bytes: int, session_bytes: int = BUSY_BYTES) -> int:
    """How many sessions of one kind a machine with so much memory is asked to bear."""
    return int(SESSIONS_SHARE * memory_bytes / session_bytes)


def _folded(arms: Mapping[str, ArmFile], gone: Mapping[str, object], profile: Profile | None) -> dict[str, ArmFile]:
    """The arms that are left; each takes over what it inherited from arms that are not."""
    left = {}
    for name, arm in arms.items():
        if name in gone:
            continue
        left[name] = _whole(arm, arms, gone, profile)
    return left


def _whole(arm: ArmFile, arms: Mapping[str, ArmFile], gone: Mapping[str, object], profile: Profile | None) -> ArmFile:
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


def _without(claim: Claim, gone: Mapping[str, object]) -> Claim | None:
    """The claim as far as its arms are left; None where too little is."""
    if claim.levels:
        levels = tuple(arm for arm in claim.levels if arm not in gone)
        return replace(claim, levels=levels, control=levels[0], arm=levels[-1]) if len(levels) >= 3 else None
    if claim.arm in gone or claim.control in gone:
        return None
    windows = claim.published_windows
    return replace(claim, published_windows=None) if windows is not None and windows.arm in gone else claim


def _version_doubt(missing: list[str], same: list[str], major: int) -> Doubt:
    text = f"PostgreSQL {major} cannot run all that was published: {'; '.join(missing)}"
    if same:
        text += f". Nothing is left of {' and '.join(same)}, so claims about it are not judged"
    return Doubt(kind=DoubtKind.SETTING_LEFT_OUT, text=text, advice="run it on a newer version for the whole of it")


def _memory_doubt(too_large: Mapping[str, str]) -> Doubt:
    sizes = ", ".join(f"{name} (shared_buffers = {asked})" for name, asked in too_large.items())
    return Doubt(
        kind=DoubtKind.ARM_LEFT_OUT,
        text=f"{sizes}: more than half of this machine's memory, so it was not run",
        advice="run it on a machine with more memory",
    )


def _sessions_doubt(too_many: Mapping[str, int], memory_bytes: int) -> Doubt:
    counts = ", ".join(f"{name} ({count:,} sessions)" for name, count in too_many.items())
    idle, busy = sessions_that_fit(memory_bytes, IDLE_BYTES), sessions_that_fit(memory_bytes, BUSY_BYTES)
    fit = (
        f"about {idle:,} idle ones at {IDLE_BYTES / 2**20:g} MB each, or {busy:,} busy ones at {BUSY_BYTES / 2**20:g} "
        f"MB, fit into {SESSIONS_SHARE * 100:.0f} % of its memory"
    )
    return Doubt(
        kind=DoubtKind.ARM_LEFT_OUT,
        text=f"{counts}: too many for this machine, so it was not run; {fit}",
        advice="run it on a machine with more memory",
    )
