"""What of a study one server on one machine can run: the rest is replaced or left out, with a doubt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.model.doubt import (
    ArmBuffers,
    ArmSessions,
    BuffersTooLarge,
    Doubt,
    DoubtKind,
    SessionsTooMany,
    SettingLeftOut,
    SettingsLeftOut,
)
from pgclinic.model.study import ArmFile, Profile, Study
from pgclinic.settings.units import buffers_bytes
from pgclinic.study.in_profile import without_arms
from pgclinic.study.inheritance import InheritedArm, inherited_arm

#: A pool that takes more than this share of the memory leaves too little for what it is measured with.
MEMORY_SHARE = 0.5

#: Sessions may have this share of the memory, at so much each; a fresh one has 1.4 MB for itself on 18, others more.
SESSIONS_SHARE = 0.6
IDLE_BYTES = 14 * 2**20 // 10
BUSY_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Fitted:
    """The study without what cannot be run, and a doubt for each kind of thing that was left out.

    ``arms`` are those of the study with all that they inherit.
    """

    study: Study
    doubts: tuple[Doubt, ...]
    arms: dict[str, InheritedArm]


def fitted(
    study: Study,
    major: int,
    profile: Profile | None = None,
    memory_bytes: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Fitted:
    """Apply the study's ``since``, and leave out arms whose shared_buffers or sessions this machine cannot hold.
    ``settings`` are the user's own, over those of all arms.

    What counts is what an arm has with all that it inherits, so an arm that does not fit takes the arms built on it
    with it, but for those that ask for less themselves. An arm that keeps none of its own settings is the arm it builds
    on: it goes too. Claims about arms that go are left out.
    """
    arms, missing, same = _without_newer(study, major)
    study = replace(study, arms=arms)
    inherited = {name: inherited_arm(study, profile, name, settings) for name in study.arms}
    too_large = _too_large(inherited, major, memory_bytes)
    too_many = _too_many(inherited, profile, memory_bytes)
    gone = {*same, *too_large, *too_many}
    if not missing and not gone:
        return Fitted(study, (), inherited)
    doubts = []
    if missing:
        doubts.append(_version_doubt(missing, same, major))
    if too_large:
        doubts.append(_memory_doubt(too_large))
    if too_many:
        doubts.append(_sessions_doubt(too_many, memory_bytes or 0))
    left = {name: arm for name, arm in inherited.items() if name not in gone}
    return Fitted(without_arms(study, gone, profile), tuple(doubts), left)


def _without_newer(study: Study, major: int) -> tuple[dict[str, ArmFile], tuple[SettingLeftOut, ...], list[str]]:
    """Arms with the settings that this version has; what was left out; arms of which nothing is left."""
    missing: dict[str, SettingLeftOut] = {}
    arms, same = {}, []
    for name, arm in study.arms.items():
        # An arm with a version of its own is fitted to that one; ``since`` is about the version of the run.
        settings = {}
        for key, value in arm.settings.items():
            since = study.since.get(key)
            if since is None or major >= since.major:
                settings[key] = value
                continue
            missing[key] = SettingLeftOut(name=key, value=value, since=since.major, otherwise=since.otherwise)
            if since.otherwise is not None:
                settings[key] = since.otherwise
        if arm.settings and not settings and arm.builds_on is not None and arm.condition is None:
            same.append(name)
        arms[name] = replace(arm, settings=settings)
    return arms, tuple(missing.values()), same


def _too_large(arms: Mapping[str, InheritedArm], major: int, memory_bytes: int | None) -> dict[str, str]:
    """Arms, by name, whose shared_buffers are more than the machine should give, and how large those are."""
    found = {}
    for name, arm in arms.items():
        asked = arm.settings.get("shared_buffers")
        if asked is None or memory_bytes is None:
            continue
        try:
            asked_bytes = buffers_bytes(asked, major)
        except ValueError:
            # The check of settings says what is wrong with it.
            continue
        if asked_bytes > MEMORY_SHARE * memory_bytes:
            found[name] = asked
    return found


def _too_many(arms: Mapping[str, InheritedArm], profile: Profile | None, memory_bytes: int | None) -> dict[str, int]:
    """Arms, by name, with more sessions, idle and busy, than there is memory for, and how many those are."""
    if memory_bytes is None:
        return {}
    room = SESSIONS_SHARE * memory_bytes
    found = {}
    for name, arm in arms.items():
        idle = arm.condition.idle_sessions
        busy = (profile.clients if profile is not None else None) or arm.workload.clients
        if idle * IDLE_BYTES + busy * BUSY_BYTES > room:
            found[name] = idle + busy
    return found


def sessions_that_fit(memory_bytes: int, session_bytes: int = BUSY_BYTES) -> int:
    """How many sessions of one kind a machine with so much memory can serve."""
    return int(SESSIONS_SHARE * memory_bytes / session_bytes)


def _version_doubt(missing: tuple[SettingLeftOut, ...], same: list[str], major: int) -> Doubt:
    facts = SettingsLeftOut(major=major, settings=missing, arms_gone=tuple(same))
    return Doubt(kind=DoubtKind.SETTING_LEFT_OUT, facts=facts)


def _memory_doubt(too_large: Mapping[str, str]) -> Doubt:
    arms = tuple(ArmBuffers(arm=name, shared_buffers=asked) for name, asked in too_large.items())
    return Doubt(kind=DoubtKind.ARM_LEFT_OUT, facts=BuffersTooLarge(arms=arms, memory_share=MEMORY_SHARE))


def _sessions_doubt(too_many: Mapping[str, int], memory_bytes: int) -> Doubt:
    return Doubt(
        kind=DoubtKind.ARM_LEFT_OUT,
        facts=SessionsTooMany(
            arms=tuple(ArmSessions(arm=name, sessions=count) for name, count in too_many.items()),
            idle_fit=sessions_that_fit(memory_bytes, IDLE_BYTES),
            idle_bytes=IDLE_BYTES,
            busy_fit=sessions_that_fit(memory_bytes, BUSY_BYTES),
            busy_bytes=BUSY_BYTES,
            memory_share=SESSIONS_SHARE,
        ),
    )
