"""Two arms that the user wants to compare -> a Study with one open question; it runs the road of all studies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.judge.interval import FIRST_LOOK
from pgclinic.load.pgbench_tables import fill_statements
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.load import Protocol, Script
from pgclinic.model.study import (
    ArmFile,
    Condition,
    Profile,
    Question,
    Source,
    Study,
    TpccWorkload,
    WarmUpEnd,
    Workload,
    WorkloadChange,
)
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.study.duration import (
    BLOCKS_MAX,
    MEASURE_S_MIN,
    NO_BUDGET_S,
    OVERHEAD_S_GUESS,
    OVERRUN_S,
    likely_warm_up_s,
)
from pgclinic.study.read import FORMAT, check_steady

A, B = "a", "b"
PROFILE = "compare"
#: A server takes 100 connections unless it is told otherwise; some are ours and some are kept for superusers.
CONNECTIONS_AS_USUAL = 80
_SPARE_CONNECTIONS = 20
TERMINALS_PER_WAREHOUSE = 10


@dataclass(frozen=True)
class Length:
    """How much of it: ``blocks`` settled beforehand, or a ``budget_s`` in which the run may stop at the answer.

    With ``may_shorten`` trials of ``measure_s`` become shorter where the budget would hold too few of them.
    """

    warm_up_s: float
    measure_s: float
    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME
    blocks: int | None = None
    budget_s: float | None = None
    may_shorten: bool = False


@dataclass(frozen=True)
class Common:
    """What both arms do. Without ``schema`` the data are pgbench's tables at ``scale``; with ``warehouses`` TPC-C's.

    With ``existing`` they are what a database has, with ``twin`` those of a twin, whose workload the scripts then are.

    ``scripts`` empty is pgbench's own default.
    """

    scripts: tuple[Script, ...]
    default_script: Script
    schema: str | None = None
    existing: bool = False
    scale: int = 1
    twin: TwinDataset | None = None
    warehouses: int | None = None
    clients: int | None = None
    threads: int = 1
    protocol: Protocol = Protocol.SIMPLE
    settings: Mapping[str, str] = field(default_factory=dict)


def comparison_study(a: ArmAsked, b: ArmAsked, common: Common, length: Length, today: str) -> Study:
    """The study that answers which of the two is faster. Raises UsageError for what does not go together."""
    _check_tpcc(a, b, common)
    _check_existing(a, b, common)
    _check_twin(a, b, common)
    study = Study(
        format=FORMAT,
        name="compare",
        title=f"Compare a ({about(a)}) with b ({about(b)})",
        about="Two arms compared; nothing is claimed about either.",
        source=Source(title="our own question", author="the user of pgclinic compare", published=today),
        workload=_workload(common),
        arms={A: _arm(a, common), B: _arm(b, common)},
        profiles={},
        claims=(),
    )
    return asked(study, length, common.warehouses)


def asked(study: Study, length: Length, warehouses: int | None = None) -> Study:
    """The study with the question in place of all claims, and one profile of this ``length``."""
    profiles = {PROFILE: replace(_profile(length), warehouses=warehouses)}
    whole = replace(study, claims=(), question=question(), profiles=profiles)
    check_steady(whole, PROFILE, study.name)
    return whole


def in_time_left(study: Study, length: Length, left_s: float) -> Study:
    """The same in what is left of the budget: fewer blocks, or where ``length`` allows it shorter trials.

    A budget that holds too few blocks for a ratio is used all the same: an answer without a bound is one.
    """
    if length.budget_s is None:
        return study
    planned = study.profiles[PROFILE]
    measure_s = _measure_s(length, left_s)
    shorter = {name: min(seconds, measure_s) for name, seconds in planned.measure_s.items()}
    return replace(study, profiles={PROFILE: replace(planned, measure_s=shorter, budget_s=left_s)})


def with_room(study: Study) -> Study:
    """The same with room for all sessions on the servers that the lab starts; others have the room that they have."""
    clients = max(_sessions(study, name) for name in study.arms)
    return replace(study, arms={name: _with_room(arm, clients) for name, arm in study.arms.items()})


def question() -> Question:
    """Nothing is claimed, which is judged as "no difference" is: the run may stop at that, and at its opposite."""
    return Question(
        name="b-against-a",
        text="b runs as fast as a",
        arm=B,
        control=A,
    )


def from_study(study: Study, length: Length) -> Study:
    """A study file's two arms, the first of them as a. Raises UsageError where there are not two."""
    if len(study.arms) != 2:
        raise UsageError(
            f"{study.name} has {len(study.arms)} arms, and compare needs two", hint=f"pgclinic study run {study.name}"
        )
    names = dict(zip(study.arms, (A, B), strict=True))
    arms = {
        names[name]: replace(arm, builds_on=names[arm.builds_on] if arm.builds_on else None, about=name)
        for name, arm in study.arms.items()
    }
    warehouses = next((profile.warehouses for profile in study.profiles.values() if profile.warehouses), None)
    # b may stand on a, so a comes first whatever the file says.
    return asked(replace(study, arms=dict(sorted(arms.items()))), length, warehouses)


def about(arm: ArmAsked) -> str:
    """What an arm is, in a line: work_mem = 64MB, version 17."""
    parts = []
    for word in arm.words:
        key, _, value = word.partition("=")
        group, _, name = key.partition(":")
        named = {"set": f"{name} = {value}", "var": f":{name} = {value}", "condition": f"{name} {value}"}
        parts.append(named.get(group, f"{key} {value}"))
    return ", ".join(parts) or "nothing set"


def _workload(common: Common) -> Workload:
    clients = common.clients or TERMINALS_PER_WAREHOUSE * (common.warehouses or 0) or 1
    shape = Workload(clients=clients, threads=min(common.threads, clients), protocol=common.protocol)
    if common.warehouses is not None:
        return replace(shape, tpcc=TpccWorkload())
    scripts = common.scripts or (common.default_script,)
    if common.twin is not None:
        return replace(shape, twin=common.twin, scripts=scripts)
    return replace(shape, fill=_fill(common.schema, common), scripts=scripts)


def _fill(schema: str | None, common: Common) -> str:
    if common.existing:
        return ""
    return schema if schema is not None else fill_statements(common.scale)


def _arm(arm: ArmAsked, common: Common) -> ArmFile:
    change = WorkloadChange(
        fill=arm.schema,
        changes="\n".join(arm.changes) or None,
        scripts=arm.scripts or None,
        clients=arm.clients,
    )
    # pgbench's own scripts, and many others, ask for :scale.
    scale = {} if common.warehouses is not None else {"scale": str(common.scale)}
    return ArmFile(
        about=about(arm),
        settings={**common.settings, **arm.settings},
        condition=arm.condition if arm.condition != Condition() else None,
        variables=scale | arm.variables,
        workload=change if change != WorkloadChange() else None,
        version=arm.version,
    )


def _check_tpcc(a: ArmAsked, b: ArmAsked, common: Common) -> None:
    if common.warehouses is None:
        return
    given: list[tuple[str, object]] = [("--script", common.scripts), ("--schema", common.schema)]
    for option, arm in (("--a", a), ("--b", b)):
        given += [(f"{option} script", arm.scripts), (f"{option} schema", arm.schema)]
        given += [(f"{option} index: or schema:", arm.changes)]
    for name, value in given:
        if value:
            raise UsageError(f"{name} and --tpcc are mutually exclusive: TPC-C has its own data and transactions")


def _check_existing(a: ArmAsked, b: ArmAsked, common: Common) -> None:
    given: list[tuple[str, object]] = [
        ("--schema", common.schema),
        ("--a schema", a.schema),
        ("--b schema", b.schema),
    ]
    given += [("--twin", common.twin), ("--a index: or schema:", a.changes), ("--b index: or schema:", b.changes)]
    for name, value in given:
        if value and common.existing:
            raise UsageError(f"{name} and --existing are mutually exclusive: the data are those of the database")


def _check_twin(a: ArmAsked, b: ArmAsked, common: Common) -> None:
    if common.twin is None:
        return
    given: list[tuple[str, object]] = [("--schema", common.schema), ("--tpcc", common.warehouses)]
    given += [("--a schema", a.schema), ("--b schema", b.schema), ("--a dsn", a.dsn), ("--b dsn", b.dsn)]
    for name, value in given:
        if value is not None:
            raise UsageError(
                f"{name} and --twin are mutually exclusive: the data are those of the twin",
                hint="write --b schema:FILE to run statements on the twin",
            )


def _sessions(study: Study, name: str) -> int:
    arm = study.arms[name]
    change, condition = arm.workload, arm.condition
    clients = change.clients if change is not None and change.clients else study.workload.clients
    return clients + (condition.idle_sessions if condition is not None else 0)


def _with_room(arm: ArmFile, sessions: int) -> ArmFile:
    """Both arms get the same room for the sessions of either, unless the user says how much."""
    if sessions <= CONNECTIONS_AS_USUAL or "max_connections" in arm.settings or arm.dsn is not None:
        return arm
    room = {"max_connections": str(sessions + _SPARE_CONNECTIONS)}
    return replace(arm, settings=arm.settings | room)


def _profile(length: Length) -> Profile:
    if length.blocks is not None:
        if not FIRST_LOOK <= length.blocks <= BLOCKS_MAX:
            raise UsageError(f"--blocks must be from {FIRST_LOOK}, as fewer bound nothing, to {BLOCKS_MAX}")
        # The number was settled beforehand, so no budget may end the run.
        return Profile(
            warm_up_s=length.warm_up_s,
            warm_up_ends=length.warm_up_ends,
            measure_s={A: length.measure_s, B: length.measure_s},
            blocks_min=length.blocks,
            blocks_max=length.blocks,
            budget_s=NO_BUDGET_S,
        )
    return _within(length, length.budget_s or 0.0)


def _within(length: Length, budget_s: float) -> Profile:
    fewest = first_bounded()
    warm_up_s = likely_warm_up_s(length.warm_up_s, length.warm_up_ends)
    measure_s = _measure_s(length, budget_s)
    load_s = 2 * (warm_up_s + measure_s)
    block_s = load_s + 2 * OVERHEAD_S_GUESS
    if budget_s < fewest * block_s:
        raise UsageError(
            f"--budget {budget_s:g} s holds {int(budget_s / block_s)} blocks of {block_s:g} s; {fewest} are the fewest "
            "that bound a ratio",
            hint=f"--budget {math.ceil(fewest * block_s)}s, or shorter trials by --measure and --warm-up",
        )
    most = min(BLOCKS_MAX, max(fewest + 1, math.ceil(budget_s / load_s)))
    return Profile(
        warm_up_s=length.warm_up_s,
        warm_up_ends=length.warm_up_ends,
        measure_s={A: measure_s, B: measure_s},
        blocks_min=fewest,
        blocks_max=most,
        budget_s=budget_s,
        overrun_s=OVERRUN_S,
    )


def _measure_s(length: Length, budget_s: float) -> float:
    """How long each trial measures, so that the budget holds the fewest blocks that bound a ratio."""
    if not length.may_shorten:
        return length.measure_s
    warm_up_s = likely_warm_up_s(length.warm_up_s, length.warm_up_ends)
    room_s = budget_s / (2 * first_bounded()) - warm_up_s - OVERHEAD_S_GUESS
    return min(length.measure_s, max(MEASURE_S_MIN, math.floor(room_s)))
