"""A recording of the xmin horizon of a live server: how long it was held, by whom, and how far behind."""

from __future__ import annotations

from pgclinic.model.record import Record
from pgclinic.model.twin import HorizonHold


class HorizonPoint(Record):
    """The most that was seen in one interval that begins ``at_s`` seconds after the start of the recording.

    ``age_transactions`` is how far the oldest holder was behind, ``held_s`` for how long it had held by then; both are
    0 where nobody did. ``kind`` is that of the oldest holder.
    """

    at_s: float
    age_transactions: int
    held_s: float
    kind: str | None = None


class HorizonRecording(Record):
    """``holds`` lasted for ``every_s`` at least. ``missed`` samples had no answer; ``transactions`` passed meanwhile.

    ``series`` has one point for each ``bin_s``. ``about`` is what the recorder says of it.
    """

    pgclinic: str
    server_version: str
    database: str
    began_epoch_s: float
    duration_s: float
    every_s: float
    bin_s: float
    series: tuple[HorizonPoint, ...]
    holds: tuple[HorizonHold, ...]
    samples: int
    missed: int = 0
    transactions: int = 0
    about: str = ""
    format: int = 1


class HoldDistribution(Record):
    """Holds of one kind; ``all`` and ``catalog`` are kinds too. Durations in seconds, as far as holds were seen.

    ``held_share`` is the share of the recording in which at least one of them held.
    """

    kind: str
    holds: int
    held_share: float
    held_s_p50: float
    held_s_p90: float
    held_s_p99: float
    held_s_max: float
    age_transactions_max: int


class ReplayedHold(Record):
    """The horizon is held from ``at_s`` to ``until_s``, in seconds after the load was started."""

    at_s: float
    until_s: float
