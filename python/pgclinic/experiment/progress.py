"""Where a running experiment stands, from its events: what the live view of the terminal shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pgclinic.model.block import BlockSpec
from pgclinic.model.event import SecondMeasured, StageReached
from pgclinic.model.progress import Progress
from pgclinic.model.trial import TrialRecord, TrialSpec


class Countdown(Protocol):
    """How far a run is and how long it may still take, from what its blocks and trials have taken."""

    @property
    def blocks_most(self) -> int:
        """The number of blocks that the run cannot exceed."""
        ...

    @property
    def open_ended(self) -> bool:
        """Whether it may end before."""
        ...

    def block_begins(self, block: BlockSpec) -> None: ...

    def trial_begins(self, spec: TrialSpec) -> None: ...

    def trial_ended(self, record: TrialRecord) -> None: ...

    def left_s(self) -> float:
        """Seconds until the last block that may still run would end."""
        ...


@dataclass
class _Trial:
    """One trial that is running; several are where blocks run beside each other."""

    spec: TrialSpec
    stage: str = "starting"
    tps: tuple[float, ...] = ()
    hits: tuple[float, ...] = ()


class ProgressView:
    """Turns events into progress. ``budget`` is None for an A/A calibration of ``trials`` trials, which has no end that
    could be estimated."""

    def __init__(self, budget: Countdown | None = None, *, trials: int = 0) -> None:
        self._budget = budget
        self._calibration_trials = trials
        self._trials: dict[int, _Trial] = {}
        self._last = 0

    def block_begins(self, block: BlockSpec) -> None:
        self._trials |= {spec.number: _Trial(spec) for spec in block.trials}
        if self._budget is not None:
            self._budget.block_begins(block)

    def after(self, event: StageReached | SecondMeasured) -> Progress:
        """The progress that the event makes."""
        number = event.trial if isinstance(event, StageReached) else event.second.trial
        trial = self._trials[number]
        if number != self._last:
            self._last = number
            if self._budget is not None:
                self._budget.trial_begins(trial.spec)
        if isinstance(event, StageReached):
            trial.stage = event.stage
        else:
            trial.stage, trial.tps = "measuring", (*trial.tps, event.second.tps)
            if event.second.buffer_hits_per_transaction is not None:
                trial.hits = (*trial.hits, event.second.buffer_hits_per_transaction)
        return self._progress(trial)

    def trial_ended(self, record: TrialRecord) -> None:
        if self._budget is not None:
            self._budget.trial_ended(record)

    def _progress(self, trial: _Trial) -> Progress:
        calibrates = self._budget is None
        return Progress(
            block=trial.spec.position if calibrates else trial.spec.block,
            blocks=self._calibration_trials if self._budget is None else self._budget.blocks_most,
            arm=f"{trial.spec.arm} against itself" if calibrates else trial.spec.arm,
            stage=trial.stage,
            tps=trial.tps,
            buffer_hits_per_transaction=trial.hits,
            left_s=self._budget.left_s() if self._budget is not None else None,
            at_most=self._budget is not None and self._budget.open_ended,
            calibration=calibrates,
        )
