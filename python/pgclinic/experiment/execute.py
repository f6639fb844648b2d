"""Ask the plan for a block, let the fleet run it, store what it gave; until the plan has no further block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from msgspec import structs

from pgclinic.errors import MachineBusyError
from pgclinic.experiment.broken_script import refuse_broken
from pgclinic.experiment.plan import Plan
from pgclinic.experiment.progress import ProgressView
from pgclinic.fleet.here import BlockListener, Fleet
from pgclinic.model.block import BlockRecord, BlockSpec
from pgclinic.model.event import Event, SecondMeasured, StageReached, TrialEnded
from pgclinic.model.progress import Progress
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.store.run_folder import RunFolder

#: How often the thread that asks for blocks looks up, so that a Ctrl-C is answered.
_WAKE_S = 0.5


@dataclass(frozen=True)
class Listener:
    """What a caller wants to hear while an experiment runs; ``on_verdict`` gets what a study's blocks say so far."""

    on_progress: Callable[[Progress], None] = field(default=lambda _: None)
    on_trial: Callable[[TrialRecord], None] = field(default=lambda _: None)
    on_event: Callable[[Event], None] = field(default=lambda _: None)
    on_verdict: Callable[[Study, Verdict], None] = field(default=lambda _study, _verdict: None)


def execute(
    plan: Plan,
    fleet: Fleet,
    folder: RunFolder,
    listener: Listener,
    view: ProgressView,
    done: Sequence[TrialRecord] = (),
) -> tuple[TrialRecord, ...]:
    """Run the blocks that ``plan`` asks for and return the records of all trials, ``done`` ones first.

    Every record is stored as soon as its trial ends, every event when it happens.
    Raises WorkloadError where a first trial shows that its load cannot succeed, MachineBusyError where no block could
    begin in time; what else the fleet and the disk raise.
    """
    keeper = _Keeper(folder, listener, view, list(done))
    if fleet.capacity > 1:
        _run_beside(plan, fleet, keeper)
        return tuple(keeper.records)
    while (block := plan.next_block(keeper.records)) is not None:
        view.block_begins(block)
        try:
            fleet.run(block, keeper.as_listener())
        except MachineBusyError:
            # The time is over for another command's sake: what there is is judged.
            if not keeper.records:
                raise
            break
    return tuple(keeper.records)


def _run_beside(plan: Plan, fleet: Fleet, keeper: _Keeper) -> None:
    """Keep every host of the fleet busy with a block of its own."""
    running: dict[Future[BlockRecord], int] = {}
    with ThreadPoolExecutor(fleet.capacity) as pool:
        try:
            while True:
                while len(running) < fleet.capacity:
                    block = keeper.next_block(plan, tuple(running.values()))
                    if block is None:
                        break
                    running[pool.submit(fleet.run, block, keeper.as_listener())] = block.number
                if not running:
                    return
                for future in wait(running, timeout=_WAKE_S, return_when=FIRST_COMPLETED).done:
                    del running[future]
                    future.result()
        except BaseException:
            fleet.stop()
            raise


class _Keeper:
    """Stores what comes, from whichever thread it comes, and passes it on."""

    def __init__(self, folder: RunFolder, listener: Listener, view: ProgressView, records: list[TrialRecord]) -> None:
        self.records = records
        self._folder = folder
        self._listener = listener
        self._view = view
        self._lock = threading.RLock()

    def as_listener(self) -> BlockListener:
        return BlockListener(on_event=self._event, on_trial=self._trial)

    def next_block(self, plan: Plan, running: Sequence[int]) -> BlockSpec | None:
        with self._lock:
            block = plan.next_block(self.records, running)
            if block is not None:
                self._view.block_begins(block)
            return block

    def _event(self, event: Event) -> None:
        with self._lock:
            progress = self._view.after(event) if isinstance(event, StageReached | SecondMeasured) else None
            if isinstance(event, StageReached) and progress is not None:
                event = structs.replace(
                    event, progress=structs.replace(progress, tps=(), buffer_hits_per_transaction=())
                )
            self._folder.add_event(event)
            self._listener.on_event(event)
            if progress is not None:
                self._listener.on_progress(progress)

    def _trial(self, record: TrialRecord) -> None:
        with self._lock:
            self._folder.add_trial(record)
            self._view.trial_ended(record)
            self._event(_ended(record))
            refuse_broken(record, self.records)
            self.records.append(record)
            self._listener.on_trial(record)


def _ended(record: TrialRecord) -> TrialEnded:
    return TrialEnded(
        trial=record.spec.number,
        block=record.spec.block,
        arm=record.spec.arm,
        at_epoch_us=time.time_ns() // 1000,
        tps=record.load.tps if record.load is not None else None,
        failure=record.failure,
        host=record.host,
    )
