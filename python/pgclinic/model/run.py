"""A run: the folder with everything a command did, and its first file, run.json."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.machine import Machine
from pgclinic.model.record import Record
from pgclinic.model.trial import ServerSpec


class Tool(Record):
    """Versions of the tool and its engine; a debug engine is not fit to measure."""

    pgclinic: str
    engine: str
    engine_profile: str
    python: str


class RunKind(str, Enum):
    """Which command made the run; it decides what its folder holds."""

    STUDY = "study"
    COMPARE = "compare"
    BENCH = "bench"
    CHECKUP = "checkup"
    ASSAY = "assay"
    SEARCH = "search"
    BISECT = "bisect"
    ADVISE = "advise"
    UPGRADE = "upgrade"
    GROW = "grow"


class RunInfo(Record):
    """run.json: what was asked, with which seed, on which machine, by which tool.

    ``profile`` names the study's profile, ``server`` the server wanted in words without secrets; ``wanted`` is the same
    for a machine, and ``settings`` are those that every arm was given. With them and the seed an interrupted run
    is taken up again, at ``resumed_epoch_us``; ``other_machines`` are those on which it was resumed. ``calibration_s``
    is how long its calibration measures, 0 for none. ``blocks_max`` is the number of blocks to which the run was
    extended, None where it still is the profile's; ``blocks_fixed`` the number that was fixed beforehand, where that
    was raised.
    ``fail_if`` and ``strict`` are a comparison's thresholds, so that judging it again gives the same answer.
    """

    command: tuple[str, ...]
    kind: RunKind
    name: str
    seed: int
    profile: str
    budget_s: float
    server: str
    started_epoch_us: int
    machine: Machine
    tool: Tool
    wanted: ServerSpec | None = None
    settings: dict[str, str] = {}
    calibration_s: float = 0.0
    resumed_epoch_us: tuple[int, ...] = ()
    other_machines: tuple[Machine, ...] = ()
    blocks_max: int | None = None
    blocks_fixed: int | None = None
    fail_if: tuple[str, ...] = ()
    strict: bool = False
    format: int = 2


class Second(Record):
    """One second of one trial, as it happened.

    ``buffer_hits_per_transaction`` is None for seconds in which the server's counters could not be read.
    """

    trial: int
    block: int
    arm: str
    second: int
    tps: float
    failed: int
    latency_us_p50: int
    latency_us_p99: int
    buffer_hits_per_transaction: float | None = None
