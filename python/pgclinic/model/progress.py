"""Where a running study stands, for the live line of the terminal."""

from __future__ import annotations

from pgclinic.model.record import Record


class Progress(Record):
    """One moment of a run. ``stage`` is what the trial is doing: starting, filling, warming up, measuring, probing.

    ``tps`` holds the trial's full seconds so far, the newest last. ``left_s`` is the time until the last block that
    may still run would end, None while that is not known.
    """

    block: int
    blocks: int
    arm: str
    stage: str
    tps: tuple[float, ...] = ()
    buffer_hits_per_transaction: float | None = None
    left_s: float | None = None
