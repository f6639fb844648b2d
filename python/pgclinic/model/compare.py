"""What came out of comparing two arms that nobody has made a claim about: a is what there was, b what might be."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.activity import Activity, Cause
from pgclinic.model.calibration import Calibration
from pgclinic.model.doubt import Doubt
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.migration import Migration
from pgclinic.model.reason import Reason
from pgclinic.model.record import Record
from pgclinic.model.threshold import ThresholdSeen
from pgclinic.model.transport import Transport
from pgclinic.model.verdict import Interval, InvalidReason
from pgclinic.model.verdict_word import CompareWord


class Measure(str, Enum):
    """What can be compared. Latencies are in microseconds, ``cpu`` is the server's microseconds a transaction,
    ``wal`` bytes a transaction, ``hits`` the share of page requests that the buffers served."""

    TPS = "tps"
    STATEMENTS = "statements"
    P50 = "p50"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"
    P999 = "p99.9"
    MEAN = "mean"
    CPU = "cpu"
    WAL = "wal"
    HITS = "hits"


class MeasureCompared(Record):
    """Means over the blocks that count, and the ratio of b to a; None where a value is 0 and has no ratio."""

    measure: Measure
    a: float
    b: float
    interval: Interval | None


class ArmCompared(Record):
    """One side: what it is in words, how many trials of it could be used, and how many failed."""

    about: str
    trials: int
    failed: int


class Comparison(Record):
    """The answer. ``interval`` is that of b / a in TPS; ratios inside ``null_zone`` count as no difference.

    ``smallest_effect`` is how much slower, as a share, b must be for this number of blocks to detect it.
    ``blocks_needed`` estimates how many more would decide it, where it is inconclusive. ``reasons`` lead to it.
    ``calibration`` is what a against itself told before, if that was run, ``fidelity`` how alike the twin is to its
    original, where both ran on one. ``invalid_because`` is set where the word is
    *invalid*. ``causes`` say why the slower arm is slower, what matters most first, and are empty without a clear
    answer; ``activity`` is what the servers of both arms did.
    ``transport`` is what blocks on a twin say of its original: ``word`` is then about that, and ``interval`` is that of
    the twin's closed-loop throughput. ``migration`` is what the statements of b lock on the twin, where it has any.
    """

    name: str
    word: CompareWord
    a: ArmCompared
    b: ArmCompared
    interval: Interval | None
    null_zone: tuple[float, float]
    measures: tuple[MeasureCompared, ...]
    thresholds: tuple[ThresholdSeen, ...]
    doubts: tuple[Doubt, ...]
    reasons: tuple[Reason, ...]
    server_version: str | None
    smallest_effect: float | None = None
    blocks_needed: int | None = None
    calibration: Calibration | None = None
    invalid_because: InvalidReason | None = None
    fidelity: Fidelity | None = None
    causes: tuple[Cause, ...] = ()
    activity: Activity | None = None
    transport: Transport | None = None
    migration: Migration | None = None
    format: int = 1
