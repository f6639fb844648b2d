"""A run as its live page shows it, built up from its events one after the other. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from pgclinic.model.doubt import Doubt
from pgclinic.model.event import (
    BlockRepeated,
    ClaimJudged,
    Event,
    ProofReached,
    SecondMeasured,
    StageReached,
    TrialEnded,
    VerdictReached,
)
from pgclinic.model.progress import Progress
from pgclinic.model.run import RunKind, Second
from pgclinic.report.live.progress import clock, place_words
from pgclinic.report.words.checkup_lines import short_proof
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.facts import milliseconds_words
from pgclinic.report.words.figures import number, span, times

#: Two hours: no screen has more points than that.
POINTS_SHOWN = 7200
TRIALS_SHOWN = 200
_MEASURING = "measuring"
_TRIALS = "Trials", ("Trial", "Block", "Arm", "TPS", "Failures and doubts")
_LOADS = "Loads", ("Load", "Rate", "TPS served", "Limit missed")


class LivePoint(NamedTuple):
    """TPS of one second of an arm, by its number, at seconds since the run began."""

    at_s: float
    arm: int
    tps: float


class LiveRun:
    """What is known of a run so far. ``versions`` counts the changes of each part of its page.

    ``repeated`` counts the blocks whose host was lost: their points are gone from ``points``.
    """

    def __init__(self, started_epoch_us: int, kind: RunKind | None = None) -> None:
        self.arms: list[str] = []
        self.points: list[LivePoint] = []
        self.versions: Counter[str] = Counter()
        self.repeated = 0
        self._started_epoch_us = started_epoch_us
        self._is_load = kind is RunKind.BENCH
        self._stage: StageReached | None = None
        self._second: Second | None = None
        self._failed = 0
        self._measuring_s: dict[int, float] = {}
        self._blocks: list[int] = []
        self._trials: list[tuple[int, tuple[str, ...]]] = []
        self._claims: tuple[ClaimJudged, ...] = ()
        self._doubts: tuple[Doubt, ...] = ()
        self._proofs: list[tuple[str, str]] = []

    def after(self, event: Event, doubts: tuple[Doubt, ...] = ()) -> None:
        """Take one event in. ``doubts`` are those of the record of a trial that ended, or of a verdict."""
        match event:
            case StageReached():
                self._stage = event
                if event.stage == _MEASURING:
                    self._measuring_s[event.trial] = self._since_start_s(event.at_epoch_us)
                self.versions["now"] += 1
            case SecondMeasured(second=second):
                self._measured(second)
                self.versions["now"] += 1
            case BlockRepeated():
                left = [at for at, block in enumerate(self._blocks) if block != event.block]
                self.points, self._blocks = [self.points[at] for at in left], [self._blocks[at] for at in left]
                self.repeated += 1
            case VerdictReached():
                self._claims, self._doubts = event.claims, doubts
                self.versions["verdict"] += 1
            case ProofReached():
                self._proofs.append((event.finding, short_proof(event.proof)))
                self.versions["proofs"] += 1
            case TrialEnded():
                self._ended(event, doubts)
                self.versions["trials"] += 1

    def _ended(self, event: TrialEnded, doubts: tuple[Doubt, ...]) -> None:
        said = [event.failure] if event.failure is not None else []
        said += [doubt_words(doubt).text for doubt in doubts]
        tps = number(event.tps) if event.tps is not None else "-"
        place = "calibration" if event.block == 0 else str(event.block)
        row = (str(event.trial), *(() if self._is_load else (place,)), event.arm, tps, "; ".join(said))
        # A trial of a block that was repeated ends a second time.
        self._trials = [(trial, cells) for trial, cells in self._trials if trial != event.trial]
        self._trials.append((event.trial, row))

    def _measured(self, second: Second) -> None:
        if second.arm not in self.arms:
            self.arms.append(second.arm)
        # Runs of earlier versions do not say when a trial began to measure: there its seconds follow the last ones.
        begin_s = self._measuring_s.setdefault(second.trial, self.points[-1].at_s + 1 if self.points else 0.0)
        self.points.append(
            LivePoint(round(begin_s + second.second, 1), self.arms.index(second.arm), round(second.tps, 1))
        )
        self._blocks.append(second.block)
        if self._second is None or self._second.trial != second.trial:
            self._failed = 0
        self._failed += second.failed
        self._second = second

    def _since_start_s(self, epoch_us: int) -> float:
        return max(0.0, (epoch_us - self._started_epoch_us) / 1e6)

    def now_rows(self, now_epoch_us: int) -> list[tuple[str, str]]:
        """Where the run stands: its block, its arm, what it does, the last second, the trial's failures so far, time
        left."""
        stage, second = self._stage, self._second
        if stage is None:
            return [("Stage", "preparing")]
        progress = stage.progress
        rows = [*self._place_rows(stage), ("Stage", stage.stage)]
        if second is not None and second.trial == stage.trial:
            rows.append(("TPS", number(second.tps)))
            rows += [
                ("Latency p50", milliseconds_words(second.latency_us_p50 / 1000)),
                ("Latency p99", milliseconds_words(second.latency_us_p99 / 1000)),
                ("Failed", f"{self._failed:,}"),
            ]
            if second.buffer_hits_per_transaction is not None:
                rows.append(("Buffer hits per transaction", number(second.buffer_hits_per_transaction)))
        left_s = _left_s(progress, stage.at_epoch_us, now_epoch_us)
        if left_s is not None:
            rows.append(("Time left", f"{'at most ' if progress and progress.at_most else ''}{clock(left_s)}"))
        return rows

    def _place_rows(self, stage: StageReached) -> list[tuple[str, str]]:
        """Block and arm; of a bench the load, where it is one of several."""
        progress = stage.progress
        arm = progress.arm if progress is not None else stage.arm
        if self._is_load:
            return [("Load", f"{stage.trial}: {arm}")] if arm != stage.arm else []
        return [("Progress", place_words(progress) if progress is not None else f"block {stage.block}"), ("Arm", arm)]

    def claim_rows(self) -> list[tuple[str, str, str]]:
        """Each claim's word so far, and its ratio with its interval."""
        return [(claim.claim, claim.word, _ratio(claim)) for claim in self._claims]

    @property
    def trial_heads(self) -> tuple[str, tuple[str, ...]]:
        """What the trials are called, and the heads of their rows; those of a bench are the loads of a search."""
        return _LOADS if self._is_load else _TRIALS

    def trial_rows(self) -> tuple[list[tuple[str, ...]], int]:
        """A row below those heads for each trial, the newest first; and how many earlier ones are left out."""
        rows = [cells for _, cells in reversed(self._trials)]
        return rows[:TRIALS_SHOWN], max(0, len(rows) - TRIALS_SHOWN)

    def doubt_rows(self) -> list[tuple[str, str]]:
        """What is doubted, and what to do about it."""
        return [(words.text, words.advice) for words in map(doubt_words, self._doubts)]

    def proof_rows(self) -> list[tuple[str, str]]:
        """Finding and proof, the newest first."""
        return self._proofs[::-1]


def _left_s(progress: Progress | None, at_epoch_us: int, now_epoch_us: int) -> float | None:
    if progress is None or progress.left_s is None:
        return None
    return max(0.0, progress.left_s - (now_epoch_us - at_epoch_us) / 1e6)


def _ratio(claim: ClaimJudged) -> str:
    if claim.ratio is None:
        return "-"
    if claim.low is None or claim.high is None:
        return times(claim.ratio)
    return f"{times(claim.ratio)}, 95 % CI {span((claim.low, claim.high))}"
