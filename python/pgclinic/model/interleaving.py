"""Whether the blocks of a run are interleaved, and if not, why."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class SequentialKind(str, Enum):
    """Why one arm would disturb the other if their servers were up together, or could not take turns with it."""

    ATTACHED_SERVER = "attached_server"
    UNEQUAL_TIMES = "unequal_times"
    STEADY_WARM_UP = "steady_warm_up"
    THINK_TIMES = "think_times"
    CONDITION = "condition"
    DECLINE = "decline"
    BACKGROUND_SETTING = "background_setting"
    MEMORY = "memory"


class WhySequential(Record):
    """``arm`` is the one at fault, where it is one; ``setting`` a setting of background work that the arms differ in.

    ``needed_bytes`` is the memory that all servers of a block need together, of ``memory_bytes`` that there are.
    """

    kind: SequentialKind
    arm: str | None = None
    setting: str | None = None
    needed_bytes: int | None = None
    memory_bytes: int | None = None
