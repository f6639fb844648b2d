"""Blocks on this machine, in this process, one trial at a time: two timed trials never share the machine.

That holds between commands too: a second one waits for the first one's trial, and their trials alternate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from pgclinic.lab.measuring import exclusive_measurement
from pgclinic.lab.uninterrupted import uninterrupted
from pgclinic.model.block import BlockMode, BlockRecord, BlockSpec
from pgclinic.model.event import Event, SecondMeasured, StageReached
from pgclinic.model.progress import BESIDE, WAITING
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.store.machine import read_machine

if TYPE_CHECKING:
    from pgclinic.trial.run import TrialListener


@dataclass(frozen=True)
class BlockListener:
    """Who hears what happens in a block. ``on_trial`` gets each record as soon as its trial ends; what it raises stops
    the block. ``on_event`` may be called from other threads than the caller's."""

    on_event: Callable[[Event], None] = field(default=lambda _: None)
    on_trial: Callable[[TrialRecord], None] = field(default=lambda _: None)


class Fleet(Protocol):
    """Whatever runs the trials of a block on one host. ``capacity`` blocks run at the same time, each on its own."""

    @property
    def capacity(self) -> int: ...

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        """Run one block; a trial that goes wrong comes back as a failed record, not as an error.

        Raises MachineBusyError where the block cannot begin in time.
        """
        ...

    def stop(self) -> None:
        """End the blocks that other threads run now; what their finished trials gave is still handed over."""
        ...


@dataclass(frozen=True)
class Here:
    """``addresses`` are the whole addresses of attached servers, secrets included, by those without; never stored.

    Another command's measurement is waited for until ``until_s`` of the monotonic clock, None for as long as it takes.
    """

    addresses: Mapping[str, str] = field(default_factory=dict)
    until_s: float | None = None

    @property
    def capacity(self) -> int:
        """Two timed trials never share a machine."""
        return 1

    def stop(self) -> None:
        """Its only block runs in the thread that asks."""

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        if block.mode is BlockMode.INTERLEAVED:
            return self._run_together(block, listener)
        records = []
        for spec in block.trials:
            record = self._run_trial(spec, listener)
            records.append(record)
            listener.on_trial(record)
        return BlockRecord(spec=block, trials=tuple(records))

    def _run_together(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        from pgclinic.trial.interleaved import run_interleaved

        def on_stage(stage: str) -> None:
            for spec in block.trials:
                listener.on_event(stage_of(spec, stage))

        with exclusive_measurement(lambda: on_stage(WAITING), lambda: on_stage(BESIDE), self.until_s):
            found = run_interleaved(block, lambda spec: _trial_listener(spec, listener), dsn_of=self._whole_address)
        machine = read_machine()
        records = tuple(replace(record, machine=machine) for record in found)
        # All of them are stored or none: a resumed run would repeat them all.
        with uninterrupted():
            for record in records:
                listener.on_trial(record)
        return BlockRecord(spec=block, trials=records)

    def _run_trial(self, spec: TrialSpec, listener: BlockListener) -> TrialRecord:
        from pgclinic.trial.run import run_trial

        own = _trial_listener(spec, listener)
        with exclusive_measurement(lambda: own.on_stage(WAITING), lambda: own.on_stage(BESIDE), self.until_s):
            record = run_trial(spec, own, dsn=self._whole_address(spec))
        return replace(record, machine=read_machine())

    def _whole_address(self, spec: TrialSpec) -> str | None:
        own = spec.server.dsn
        return None if own is None else self.addresses.get(own, own)


def _trial_listener(spec: TrialSpec, listener: BlockListener) -> TrialListener:
    from pgclinic.trial.run import TrialListener

    return TrialListener(
        on_stage=lambda stage: listener.on_event(stage_of(spec, stage)),
        on_second=lambda second: listener.on_event(SecondMeasured(second=second)),
    )


def stage_of(spec: TrialSpec, stage: str) -> StageReached:
    """The event of a trial that begins to do something else."""
    return StageReached(
        trial=spec.number, block=spec.block, arm=spec.arm, stage=stage, at_epoch_us=time.time_ns() // 1000
    )
