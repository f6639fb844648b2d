"""One block: a trial of every arm, the unit that a fleet runs on one host."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record
from pgclinic.model.trial import TrialRecord, TrialSpec


class BlockMode(str, Enum):
    """``sequential``: one arm after the other, each with the machine to itself. ``interleaved``: the servers of all
    arms are up together and the load alternates between them in short windows."""

    SEQUENTIAL = "sequential"
    INTERLEAVED = "interleaved"


class BlockSpec(Record):
    """The trials of one block in their order; ``number`` counts from 1, 0 is the A/A calibration.

    A resumed block has only the trials that it still lacks. ``window_s`` is how long an arm of an interleaved block has
    the load before the next one gets it, ``guard_s`` how long after each change nothing counts.
    """

    number: int
    trials: tuple[TrialSpec, ...]
    mode: BlockMode = BlockMode.SEQUENTIAL
    window_s: float | None = None
    guard_s: float = 0.0


class BlockRecord(Record):
    """What a block gave: a record for each of its trials, and the host that ran them all, None for this machine."""

    spec: BlockSpec
    trials: tuple[TrialRecord, ...]
    host: str | None = None
