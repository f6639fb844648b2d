"""Where a running study stands, for the live view of the terminal."""

from __future__ import annotations

from pgclinic.model.record import Record

#: Stages that concern other commands: they are worth a line of their own wherever they are shown.
WAITING = "waiting: another pgclinic measurement is running on this machine"
BESIDE = "another pgclinic measurement is running on this machine: each slows the other down"


class Progress(Record):
    """One moment of a run. ``stage`` is what the trial is doing: starting, filling, warming up, measuring, probing.

    ``blocks`` stays the same for the whole run: with ``at_most`` it is the number that the run cannot exceed, else the
    number that it runs, and 0 where what comes depends on what came. In an A/A calibration ``block`` and ``blocks``
    count its trials.

    ``tps`` holds the trial's full seconds so far, the newest last, and ``buffer_hits_per_transaction`` those of them in
    which the server's counters could be read. ``left_s`` is the time until the last block that may still run would end,
    None while that is not known.
    """

    block: int
    blocks: int
    arm: str
    stage: str
    tps: tuple[float, ...] = ()
    buffer_hits_per_transaction: tuple[float, ...] = ()
    left_s: float | None = None
    at_most: bool = False
    calibration: bool = False
