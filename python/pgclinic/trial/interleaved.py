"""ONE interleaved block: the servers of all arms are up together, and the load alternates between them in short
windows.

Each arm is a trial as any other (``trial/run.py``), in a thread of its own with its own server, engine and connections.
The threads meet twice: when all are ready, to agree on the origin of their windows, and when all loads are over. In
between nothing is shared: windows are time stamps. Noise that lasts for longer than a window meets all arms alike, so
it cancels in their ratio; the unit of inference stays the block.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum

from msgspec.structs import replace

from pgclinic.errors import PgclinicError, RunFailedError, UsageError
from pgclinic.model.block import BlockSpec
from pgclinic.model.load import LoadResult, LoadSpec, Windows
from pgclinic.model.resting import RestingUse
from pgclinic.model.run import Second
from pgclinic.model.study import WarmUpEnd
from pgclinic.model.trial import CpuUse, TrialOutcome, TrialRecord, TrialSpec
from pgclinic.observe.resting_watch import ActiveWindow, RestingWatch
from pgclinic.trial.run import TrialListener, run_trial
from pgclinic.trial.window_plan import GUARD_S, WINDOW_S, PlannedWindow, plan_windows

#: From the last arm's being ready to the first window: the engines connect meanwhile.
LEAD_S = 0.5
#: And for each client of all arms together: a start of a session, on a machine with other work to do.
LEAD_S_PER_CLIENT = 0.02
#: How often the thread that waits for the arms lets Ctrl-C through.
_TICK_S = 0.1


def run_interleaved(
    block: BlockSpec,
    listener_of: Callable[[TrialSpec], TrialListener],
    *,
    dsn_of: Callable[[TrialSpec], str | None] = lambda _: None,
) -> tuple[TrialRecord, ...]:
    """Run all trials of ``block`` together and return their records in its order.

    ``dsn_of`` gives the whole address of a trial's attached server. Listeners are called by several threads, one at a
    time. Each record has taken its part of the block's time. An arm that fails gives a failed record, and so does every
    other arm that is not over by then: a block needs them all. Wrong usage, a full disk and Ctrl-C are raised when
    nothing runs any more.
    """
    _refuse_unfit(block)
    together = _Together(block)
    calls = threading.Lock()
    arms = [_Arm(spec, _one_at_a_time(listener_of(spec), calls), dsn_of(spec), together) for spec in block.trials]
    try:
        for arm in arms:
            arm.start()
        _wait(arms)
    finally:
        # After an interrupt; of arms that have ended nothing is left to stop.
        together.give_up("the block was interrupted")
        _wait(arms)
        together.close()
    for arm in arms:
        if arm.error is not None:
            raise arm.error
    records = [arm.record for arm in arms if arm.record is not None]
    return tuple(replace(record, elapsed_s=record.elapsed_s / len(records)) for record in records)


def _refuse_unfit(block: BlockSpec) -> None:
    """Raise UsageError for trials that cannot take turns."""
    loads = [spec.load for spec in block.trials]
    if len({spec.arm for spec in block.trials}) != len(loads) or len(loads) < 2:
        raise UsageError("an interleaved block has two arms or more, each once")
    if len({(load.warm_up_s, load.measure_s) for load in loads}) > 1 or loads[0].measure_s is None:
        raise UsageError(
            "the arms of an interleaved block warm up and measure for the same time",
            hint="give them the same measure_s, or run the blocks sequentially",
        )
    if any(spec.warm_up_ends is not WarmUpEnd.TIME for spec in block.trials):
        raise UsageError(
            "the warm-up of an interleaved block has a fixed length",
            hint="give --warm-up a time, or run the blocks sequentially",
        )


def _wait(arms: list[_Arm]) -> None:
    for arm in arms:
        while arm.is_alive():
            arm.join(_TICK_S)


def _one_at_a_time(listener: TrialListener, calls: threading.Lock) -> TrialListener:
    """The threads of all arms never call at the same time."""

    def on_stage(name: str) -> None:
        with calls:
            listener.on_stage(name)

    def on_second(second: Second) -> None:
        with calls:
            listener.on_second(second)

    return TrialListener(on_stage=on_stage, on_second=on_second)


class _Arm(threading.Thread):
    """One trial of the block."""

    def __init__(self, spec: TrialSpec, listener: TrialListener, dsn: str | None, together: _Together) -> None:
        super().__init__(name=f"pgclinic-arm-{spec.arm}", daemon=True)
        self.record: TrialRecord | None = None
        self.error: BaseException | None = None
        self._spec = spec
        self._listener = listener
        self._dsn = dsn
        self._together = together

    def run(self) -> None:
        name = self._spec.arm
        try:
            meeting = _ArmsMeeting(self._spec, self._together)
            self.record = run_trial(self._spec, self._listener, dsn=self._dsn, meeting=meeting)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
            self._together.give_up(f"arm {name} failed: {_words(error)}")
            return
        if self.record.outcome is TrialOutcome.FAILED:
            self._together.give_up(f"arm {name} failed: {self.record.failure}")


def _words(error: BaseException) -> str:
    return error.message if isinstance(error, PgclinicError) else repr(error)


class _Stage(Enum):
    """Where the threads of a block wait for each other: all servers are ready, all loads are over."""

    READY = 1
    OVER = 2


class _Together:
    """What the threads of a block share before and after the clock runs."""

    def __init__(self, block: BlockSpec) -> None:
        self.block = block
        self.postmasters: dict[str, int | None] = {}
        self.origin_us = 0
        self.windows = _windows_of(block)
        self._watch: RestingWatch | None = None
        self._changed = threading.Condition()
        self._arrived: Counter[_Stage] = Counter()
        self._given_up = False
        self._why = ""

    def ready(self, arm: str, postmaster: int | None) -> None:
        """Wait for all arms. Raises RunFailedError when one of them failed."""
        with self._changed:
            self.postmasters[arm] = postmaster
            self._meet(_Stage.READY, self._begin)

    def over(self) -> None:
        """Wait for all loads. Raises RunFailedError when one of them failed."""
        with self._changed:
            self._meet(_Stage.OVER, self.close)

    def give_up(self, why: str) -> None:
        """The block is of no use any more: nobody waits, and loads end. The first reason stands."""
        with self._changed:
            if not self._given_up:
                self._given_up, self._why = True, why
            self._changed.notify_all()

    def is_given_up(self) -> bool:
        return self._given_up

    def use(self, arm: str) -> RestingUse | None:
        return self._watch.use(arm) if self._watch is not None else None

    def close(self) -> None:
        if self._watch is not None:
            self._watch.stop()

    def _meet(self, stage: _Stage, when_complete: Callable[[], None]) -> None:
        """Wait for all arms to come to this stage; the last one does what is to be done then. What has been complete
        stays so, whatever fails later."""
        self._arrived[stage] += 1
        if self._is_complete(stage) and not self._given_up:
            when_complete()
            self._changed.notify_all()
            return
        self._changed.wait_for(lambda: self._is_complete(stage) or self._given_up)
        if not self._is_complete(stage):
            raise RunFailedError(f"not measured: the arms of an interleaved block run together, and {self._why}")

    def _is_complete(self, stage: _Stage) -> bool:
        return self._arrived[stage] == len(self.block.trials)

    def _begin(self) -> None:
        """All are ready: the origin of all windows is a little ahead, so that the engines can connect before it."""
        clients = sum(spec.load.clients for spec in self.block.trials)
        self.origin_us = time.monotonic_ns() // 1000 + round(1e6 * (LEAD_S + LEAD_S_PER_CLIENT * clients))
        origin_s = self.origin_us / 1e6
        turns = [
            ActiveWindow(window.arm, origin_s + window.counts_from_s, origin_s + window.end_s)
            for window in self.windows
        ]
        pids = list(self.postmasters.values())
        # Arms on one and the same server cannot be told apart by its processes.
        distinct = self.postmasters if len(set(pids)) == len(pids) else {}
        self._watch = RestingWatch(distinct, turns)
        self._watch.start()


def _windows_of(block: BlockSpec) -> tuple[PlannedWindow, ...]:
    load = block.trials[0].load
    window_s, guard_s = (block.window_s, block.guard_s) if block.window_s is not None else (WINDOW_S, GUARD_S)
    assert load.measure_s is not None
    return plan_windows(
        sorted(spec.arm for spec in block.trials),
        warm_up_s=load.warm_up_s,
        measure_s=load.measure_s,
        window_s=window_s,
        guard_s=guard_s,
        seed=load.seed,
    )


class _ArmsMeeting:
    """The meeting as one arm sees it."""

    def __init__(self, spec: TrialSpec, together: _Together) -> None:
        self._arm = spec.arm
        self._together = together

    @property
    def neighbours(self) -> tuple[int, ...]:
        known = self._together.postmasters.items()
        own = self._together.postmasters.get(self._arm)
        return tuple(sorted({pid for arm, pid in known if arm != self._arm and pid is not None and pid != own}))

    def begin(self, load: LoadSpec, postmaster: int | None) -> LoadSpec:
        self._together.ready(self._arm, postmaster)
        own = [window for window in self._together.windows if window.arm == self._arm]
        windows = Windows(
            origin_monotonic_us=self._together.origin_us,
            spans=tuple(window.span for window in own),
            guard_s=own[0].counts_from_s - own[0].begin_s,
        )
        return replace(load, windows=windows)

    def should_stop(self) -> bool:
        return self._together.is_given_up()

    def ended(self) -> None:
        self._together.over()

    def own_part(self, cpu: CpuUse, load: LoadResult) -> CpuUse:
        """One process makes the loads of all arms; the threads of this one are known from when it measured. And while
        the server rested there was nothing that others could have taken from it."""
        part = load.loaded_s / load.span_s if load.span_s > 0 else 1.0
        return replace(
            cpu,
            elapsed_s=cpu.elapsed_s * part,
            client_s=min(cpu.client_s, load.client_cpu_user_s + load.client_cpu_system_s),
            others_s=cpu.others_s * part,
            stopped_s=cpu.stopped_s * part if cpu.stopped_s is not None else None,
        )

    def resting(self) -> RestingUse | None:
        return self._together.use(self._arm)
