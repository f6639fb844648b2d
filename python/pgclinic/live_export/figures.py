"""The figures of a run so far, from its events. Pure; one thread takes events in, others read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pgclinic.model.doubt import Doubt
from pgclinic.model.event import (
    ClaimJudged,
    Event,
    ProofReached,
    SecondMeasured,
    StageReached,
    TrialEnded,
    VerdictReached,
)
from pgclinic.model.progress import Progress

_US = 1e6


class FigureKind(str, Enum):
    """A counter only grows while the run goes on; a gauge is what holds now."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class ExportedFigure:
    """One figure. ``name`` is that of OpenTelemetry, in dots; ``unit`` is UCUM's, 1 for a pure number."""

    name: str
    kind: FigureKind
    unit: str
    help: str


@dataclass(frozen=True)
class ExportedPoint:
    """A value of a figure, with the labels that tell it from its others."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


RATE = ExportedFigure(
    "transaction.rate", FigureKind.GAUGE, "{transaction}/s", "Transactions per second, of the last second"
)
LATENCY = ExportedFigure(
    "transaction.duration", FigureKind.GAUGE, "s", "Percentile of the latencies of the last second"
)
MEASURED = ExportedFigure("measured.time", FigureKind.COUNTER, "s", "Seconds measured so far")
FAILED = ExportedFigure("transaction.failures", FigureKind.COUNTER, "{transaction}", "Transactions that failed")
HITS = ExportedFigure(
    "transaction.buffer_hits",
    FigureKind.GAUGE,
    "{buffer}/{transaction}",
    "Buffer hits per transaction, of the last second in which the server's counters could be read",
)
STAGE = ExportedFigure("stage", FigureKind.GAUGE, "1", "1 for what the run does now, 0 for what it has done before")
BLOCKS_DONE = ExportedFigure("blocks.done", FigureKind.COUNTER, "{block}", "Blocks that the verdict so far is of")
BLOCKS = ExportedFigure("blocks.planned", FigureKind.GAUGE, "{block}", "Blocks that the run cannot exceed")
TRIALS = ExportedFigure("trials", FigureKind.COUNTER, "{trial}", "Trials that have ended")
LEFT = ExportedFigure("time.left", FigureKind.GAUGE, "s", "Time until the last block that may still run would end")
DOUBTS = ExportedFigure("doubts", FigureKind.COUNTER, "{doubt}", "Doubts of trials, by their kind")
RATIO = ExportedFigure("claim.ratio", FigureKind.GAUGE, "1", "Ratio of a claim so far, and the bounds of its 95 % CI")
PROOFS = ExportedFigure("proofs", FigureKind.COUNTER, "{proof}", "Proofs of a checkup's findings, by their word")
DROPPED = ExportedFigure(
    "export.events_dropped", FigureKind.COUNTER, "{event}", "Events that the export was too slow for"
)
FIGURES = (
    RATE,
    LATENCY,
    MEASURED,
    FAILED,
    HITS,
    STAGE,
    BLOCKS_DONE,
    BLOCKS,
    TRIALS,
    LEFT,
    DOUBTS,
    RATIO,
    PROOFS,
    DROPPED,
)


@dataclass
class _ArmFigures:
    """What the seconds of one arm have brought."""

    tps: float | None = None
    latency_s_p50: float = 0.0
    latency_s_p99: float = 0.0
    hits: float | None = None
    measured_s: int = 0
    failed: int = 0


@dataclass
class RunFigures:
    """All figures of a run. ``dropped`` counts the events that never came here."""

    dropped: int = 0
    _arms: dict[str, _ArmFigures] = field(default_factory=dict)
    _stages: dict[str, dict[str, None]] = field(default_factory=dict)
    _now: dict[str, str] = field(default_factory=dict)
    _progress: Progress | None = None
    _blocks_done: int = 0
    _trials: Counter[tuple[str, str]] = field(default_factory=Counter)
    _doubts: Counter[str] = field(default_factory=Counter)
    _proofs: Counter[str] = field(default_factory=Counter)
    _claims: tuple[ClaimJudged, ...] = ()

    def doubted(self, doubts: Sequence[Doubt]) -> None:
        """Take in the doubts of a trial that has ended."""
        self._doubts.update(doubt.kind.value for doubt in doubts)

    def after(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case SecondMeasured(second=second):
                arm = self._arms.setdefault(second.arm, _ArmFigures())
                arm.tps, arm.failed, arm.measured_s = second.tps, arm.failed + second.failed, arm.measured_s + 1
                arm.latency_s_p50, arm.latency_s_p99 = second.latency_us_p50 / _US, second.latency_us_p99 / _US
                if second.buffer_hits_per_transaction is not None:
                    arm.hits = second.buffer_hits_per_transaction
            case StageReached():
                self._stages.setdefault(event.arm, {})[event.stage] = None
                self._now[event.arm] = event.stage
                self._progress = event.progress or self._progress
            case TrialEnded():
                self._trials[event.arm, "failed" if event.failure is not None else "done"] += 1
                self._now.pop(event.arm, None)
            case VerdictReached():
                self._blocks_done, self._claims = max(self._blocks_done, event.block), event.claims
            case ProofReached():
                self._proofs[event.proof.word or "no verdict"] += 1

    def points(self, figure: ExportedFigure) -> list[ExportedPoint]:
        """The values that a figure has now; none where nothing is known."""
        if figure in (RATE, LATENCY, MEASURED, FAILED, HITS):
            return [point for arm, seen in list(self._arms.items()) for point in _points_of_arm(figure, arm, seen)]
        return list(self._points_of_run(figure))

    def _points_of_run(self, figure: ExportedFigure) -> Iterator[ExportedPoint]:
        progress = self._progress
        match figure.name:
            case STAGE.name:
                yield from self._stage_points()
            case BLOCKS_DONE.name:
                yield ExportedPoint(self._blocks_done)
            case BLOCKS.name if progress is not None and progress.blocks:
                yield ExportedPoint(progress.blocks)
            case LEFT.name if progress is not None and progress.left_s is not None:
                yield ExportedPoint(progress.left_s)
            case TRIALS.name:
                for (arm, outcome), trials in list(self._trials.items()):
                    yield ExportedPoint(trials, (("arm", arm), ("outcome", outcome)))
            case DOUBTS.name:
                yield from (ExportedPoint(doubts, (("kind", kind),)) for kind, doubts in list(self._doubts.items()))
            case PROOFS.name:
                yield from (ExportedPoint(proofs, (("word", word),)) for word, proofs in list(self._proofs.items()))
            case RATIO.name:
                yield from (point for claim in self._claims for point in _points_of_claim(claim))
            case DROPPED.name:
                yield ExportedPoint(self.dropped)

    def _stage_points(self) -> Iterator[ExportedPoint]:
        for arm, stages in list(self._stages.items()):
            for stage in list(stages):
                yield ExportedPoint(float(self._now.get(arm) == stage), (("arm", arm), ("stage", stage)))


def _points_of_arm(figure: ExportedFigure, arm: str, seen: _ArmFigures) -> Iterator[ExportedPoint]:
    label = (("arm", arm),)
    if figure is LATENCY:
        yield ExportedPoint(seen.latency_s_p50, (*label, ("quantile", "0.5")))
        yield ExportedPoint(seen.latency_s_p99, (*label, ("quantile", "0.99")))
        return
    value = {RATE: seen.tps, MEASURED: seen.measured_s, FAILED: seen.failed, HITS: seen.hits}[figure]
    if value is not None:
        yield ExportedPoint(value, label)


def _points_of_claim(claim: ClaimJudged) -> Iterator[ExportedPoint]:
    for bound, value in (("estimate", claim.ratio), ("low", claim.low), ("high", claim.high)):
        if value is not None:
            yield ExportedPoint(value, (("claim", claim.claim), ("bound", bound)))
