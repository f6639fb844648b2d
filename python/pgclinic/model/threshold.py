"""What ``--fail-if`` asks, of a load test and of a comparison alike, and what came of it."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record
from pgclinic.model.verdict import Interval


class Threshold(Record):
    """``p99>50ms`` or ``b.p99>1.1a`` as it was written, and read: ``metric`` stands in ``comparison`` to ``bound``.

    Of a load test ``bound`` is in ms for times, in per cent for shares. Of a comparison ``metric`` is a ``Measure`` and
    ``bound`` the ratio of b to a.
    """

    text: str
    metric: str
    comparison: str
    bound: float


class ThresholdResult(Record):
    """One threshold of a load test. ``measured`` is None when nothing could be measured; that counts as crossed."""

    threshold: Threshold
    measured: float | None
    crossed: bool


class ThresholdState(str, Enum):
    """``crossed`` and ``kept`` are said of whole intervals only."""

    CROSSED = "crossed"
    KEPT = "kept"
    UNDECIDED = "undecided"


class ThresholdSeen(Record):
    """One threshold of a comparison, and the interval that decides it."""

    threshold: Threshold
    state: ThresholdState
    interval: Interval | None
