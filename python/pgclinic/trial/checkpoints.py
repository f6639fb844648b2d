"""Checkpoints that fell on one side of a comparison only. From the counters of both trials. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgclinic.model.doubt import Doubt, DoubtKind, LoneCheckpoint

#: An arm that was checkpointing for this much more of its time than the other is compared by its luck.
SHARE_APART = 0.10


@dataclass(frozen=True)
class CheckpointCount:
    """The server's cumulative counters at one moment of a trial, ``at_s`` seconds after measuring began.

    ``done`` counts timed and requested checkpoints; ``busy_s`` is the time spent writing and syncing them, which
    PostgreSQL adds when one ends: a checkpoint that is still under way has none yet.
    """

    at_s: float
    done: int
    busy_s: float


@dataclass(frozen=True)
class CheckpointsSeen:
    """What fell into the measured time of one trial. ``busy_s`` reaches no further back than measuring began."""

    arm: str
    measured_s: float
    done: int
    busy_s: float

    @property
    def share(self) -> float:
        """Of the measured time, how much was spent in a checkpoint."""
        return min(1.0, self.busy_s / self.measured_s) if self.measured_s > 0 else 0.0


def checkpoints_seen(arm: str, counts: Sequence[CheckpointCount]) -> CheckpointsSeen | None:
    """The checkpoints between the first and the last count of the measured time; None with fewer than two of them.

    A counter that fell was reset by a crash or by hand: then nothing is known.
    """
    inside = [count for count in counts if count.at_s >= 0.0]
    if len(inside) < 2:
        return None
    steps = list(pairwise(inside))
    if any(later.done < earlier.done or later.busy_s < earlier.busy_s for earlier, later in steps):
        return None
    # A checkpoint that ends in a step brings all of its time at once, even what it spent before measuring began.
    busy_s = sum(min(later.busy_s - earlier.busy_s, later.at_s - inside[0].at_s) for earlier, later in steps)
    return CheckpointsSeen(
        arm=arm,
        measured_s=inside[-1].at_s - inside[0].at_s,
        done=inside[-1].done - inside[0].done,
        busy_s=busy_s,
    )


def checkpoint_in_one_arm(one: CheckpointsSeen, other: CheckpointsSeen) -> Doubt | None:
    """One trial of a block was checkpointing while the other was not, or far longer.

    Where checkpoints are frequent in both arms they are part of what is compared, however many more one has.
    """
    fewer, more = sorted((one, other), key=lambda seen: seen.share)
    if fewer.done > 0 or more.done == 0 or more.share - fewer.share < SHARE_APART:
        return None
    return Doubt(
        kind=DoubtKind.CHECKPOINT_IN_ONE_ARM,
        share=more.share - fewer.share,
        facts=LoneCheckpoint(arm=more.arm, other=fewer.arm, checkpoints=more.done, busy_share=more.share),
    )
