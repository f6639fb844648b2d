"""A run: the folder with everything a command did, and its first file, run.json."""

from __future__ import annotations

from pgclinic.model.record import Record


class Machine(Record):
    """The machine a run was made on. ``memory_bytes`` is all memory; unknown values are None."""

    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    governor: str | None
    autogroup: bool | None
    architecture: str


class Tool(Record):
    """Versions of the tool and its engine; a debug engine is not fit to measure."""

    pgclinic: str
    engine: str
    engine_profile: str
    python: str


class RunInfo(Record):
    """run.json: what was asked, with which seed, on which machine, by which tool.

    ``profile`` names the study's profile, ``server`` the server wanted in words without secrets.
    """

    command: tuple[str, ...]
    kind: str
    name: str
    seed: int
    profile: str
    budget_s: float
    server: str
    started_epoch_us: int
    machine: Machine
    tool: Tool
    format: int = 1


class Second(Record):
    """One line of seconds.jsonl: one second of one trial, as it happened.

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
