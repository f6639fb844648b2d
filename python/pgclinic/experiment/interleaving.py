"""Whether the blocks of a plan can be interleaved: not where one arm would work in the windows of another. Pure.

An existing server is left out because both arms would run on it at once: its counters, its CPU and its caches belong to
no single arm then. Loads that write are interleaved: measured at machine load 10 to 15, simple updates had a standard
deviation of the log ratio of 0.29 interleaved and 0.54 one after the other. What the resting server does is watched,
and a doubt says when it was too much.
"""

from __future__ import annotations

from collections.abc import Mapping

from pgclinic.experiment.fit import BUSY_BYTES, IDLE_BYTES
from pgclinic.model.dataset import PgbenchDataset, TpccDataset
from pgclinic.model.interleaving import SequentialKind, WhySequential
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.study import Condition, WarmUpEnd
from pgclinic.model.traffic import TpccTraffic
from pgclinic.model.version import NEWEST_MAJOR, parse_version
from pgclinic.settings.units import BUFFERS_DEFAULT, buffers_bytes

#: What all servers of a block may need of the machine's memory; the rest is for the system and what else runs.
MEMORY_SHARE = 0.7
#: On disk, and so in the page cache, of which each server has its own copy.
_BYTES_PER_SCALE = 16 * 10**6
_BYTES_PER_WAREHOUSE = 100 * 10**6
#: Settings that decide when the server works for transactions that have ended.
_BACKGROUND = (
    "autovacuum",
    "bgwriter_",
    "checkpoint_",
    "wal_writer_",
    "backend_flush_after",
    "max_wal_size",
    "min_wal_size",
    "vacuum_cost_",
    "fsync",
    "synchronous_commit",
    "archive_",
)


def why_sequential(plan: ExperimentPlan, memory_bytes: int | None) -> WhySequential | None:
    """The first reason not to interleave the blocks of ``plan`` on a machine with so much memory; None if it is
    safe."""
    arms = plan.arms
    return (
        _of_single_arms(arms)
        or _of_times(arms)
        or _of_claims(plan)
        or _of_background(arms)
        or _of_memory(arms, memory_bytes)
    )


def _of_single_arms(arms: Mapping[str, ArmSpec]) -> WhySequential | None:
    for name, arm in arms.items():
        if arm.server.dsn is not None:
            return WhySequential(kind=SequentialKind.ATTACHED_SERVER, arm=name)
        if arm.condition != Condition():
            return WhySequential(kind=SequentialKind.CONDITION, arm=name)
        if arm.warm_up_ends is not WarmUpEnd.TIME:
            return WhySequential(kind=SequentialKind.STEADY_WARM_UP)
        if isinstance(arm.traffic, TpccTraffic) and arm.traffic.waits:
            return WhySequential(kind=SequentialKind.THINK_TIMES, arm=name)
    return None


def _of_times(arms: Mapping[str, ArmSpec]) -> WhySequential | None:
    times = {(arm.load.warm_up_s, arm.load.measure_s) for arm in arms.values()}
    return WhySequential(kind=SequentialKind.UNEQUAL_TIMES) if len(times) > 1 else None


def _of_claims(plan: ExperimentPlan) -> WhySequential | None:
    """A decline is followed over the time of one server; here it would be over that of all."""
    declines = any(claim.measure == "decline" for claim in plan.study.questions)
    return WhySequential(kind=SequentialKind.DECLINE) if declines else None


def _of_background(arms: Mapping[str, ArmSpec]) -> WhySequential | None:
    names = sorted({name for arm in arms.values() for name in arm.settings if name.startswith(_BACKGROUND)})
    for name in names:
        if len({arm.settings.get(name) for arm in arms.values()}) > 1:
            return WhySequential(kind=SequentialKind.BACKGROUND_SETTING, setting=name)
    return None


def _of_memory(arms: Mapping[str, ArmSpec], memory_bytes: int | None) -> WhySequential | None:
    needed = sum(_needed_bytes(arm) for arm in arms.values())
    if memory_bytes is None or needed <= MEMORY_SHARE * memory_bytes:
        return None
    return WhySequential(kind=SequentialKind.MEMORY, needed_bytes=needed, memory_bytes=memory_bytes)


def _needed_bytes(arm: ArmSpec) -> int:
    """shared_buffers, sessions, and the data where their size is known; a dataset of the user's own counts as none."""
    data = 0
    if isinstance(arm.dataset, PgbenchDataset):
        data = arm.dataset.scale * _BYTES_PER_SCALE
    elif isinstance(arm.dataset, TpccDataset):
        data = arm.dataset.warehouses * _BYTES_PER_WAREHOUSE
    sessions = arm.load.clients * BUSY_BYTES + arm.condition.idle_sessions * IDLE_BYTES
    return _buffers_bytes(arm) + sessions + data


def _buffers_bytes(arm: ArmSpec) -> int:
    major = parse_version(arm.server.version).major if arm.server.version is not None else NEWEST_MAJOR
    try:
        return buffers_bytes(arm.settings.get("shared_buffers", BUFFERS_DEFAULT), major)
    except ValueError:
        # The check of settings says what is wrong with it.
        return buffers_bytes(BUFFERS_DEFAULT, major)
