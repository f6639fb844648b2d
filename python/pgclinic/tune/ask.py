"""Adaptive plans as plain functions: each asks for a block, gets its records, and decides what to ask for next.

A function runs again from its start whenever it is asked for a block, and is given the records that there are. So the
records are all that it remembers: an interrupted run goes on where it was, and nothing of it depends on the clock but
what the trials themselves took.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec.structs import replace

from pgclinic.experiment.plan import trial_of
from pgclinic.model.block import BlockSpec
from pgclinic.model.plan import ArmSpec
from pgclinic.model.trial import StopRule, TrialRecord, TrialSpec
from pgclinic.model.tuning import WantedArm
from pgclinic.stats.block_order import block_order, load_seed

Found = TypeVar("Found")


@dataclass(frozen=True)
class Ask:
    """One block: a trial of each of ``arms``, in counterbalanced order. ``warm_up_s`` None is that of the run."""

    arms: tuple[WantedArm, ...]
    measure_s: float
    warm_up_s: float | None = None
    stop: StopRule | None = None


#: Yields what it asks for, is sent the records in the order of the arms, returns what it found.
Strategy = Generator[Ask, tuple[TrialRecord, ...], Found]


class AdaptivePlan(Generic[Found]):
    """Runs ``strategy`` as far as the records go. ``found`` is what it returned, None while it still asks."""

    def __init__(
        self,
        strategy: Callable[[], Strategy[Found]],
        arm: ArmSpec,
        *,
        seed: int,
        last_number: int = 0,
        wants_plans: bool = False,
    ) -> None:
        self._strategy = strategy
        self._arm = arm
        self._seed = seed
        self._number = last_number
        self._wants_plans = wants_plans
        self.found: Found | None = None

    def next_block(self, records: Sequence[TrialRecord], running: Collection[int] = ()) -> BlockSpec | None:
        """What comes next depends on all that runs, so one block runs at a time."""
        if running:
            return None
        done: dict[int, dict[str, TrialRecord]] = {}
        for record in records:
            if is_complete(record):
                done.setdefault(record.spec.block, {})[record.spec.arm] = record
        asking, number = self._strategy(), 1
        try:
            ask = next(asking)
            while True:
                have = _asked_for(ask, done.get(number, {}))
                missing = [arm for arm in ask.arms if arm.name not in have]
                if missing:
                    return self._block(number, ask, missing)
                ask = asking.send(tuple(have[arm.name] for arm in ask.arms))
                number += 1
        except StopIteration as end:
            self.found = end.value
            return None

    def _block(self, number: int, ask: Ask, missing: Sequence[WantedArm]) -> BlockSpec:
        wanted = {arm.name: arm for arm in missing}
        order = block_order([arm.name for arm in ask.arms], self._seed, number) if len(ask.arms) > 1 else list(wanted)
        trials = []
        for position, name in enumerate(order, start=1):
            if name in wanted:
                self._number += 1
                trials.append(self._trial(ask, wanted[name], number, position))
        return BlockSpec(number=number, trials=tuple(trials))

    def _trial(self, ask: Ask, arm: WantedArm, block: int, position: int) -> TrialSpec:
        load = replace(
            self._arm.load,
            measure_s=ask.measure_s,
            warm_up_s=self._arm.load.warm_up_s if ask.warm_up_s is None else ask.warm_up_s,
        )
        spec = trial_of(
            replace(self._arm, server=arm.server, settings=dict(arm.settings), load=load),
            arm.name,
            number=self._number,
            block=block,
            position=position,
            seed=load_seed(self._seed, block),
            wants_plans=self._wants_plans,
        )
        return replace(spec, stop=ask.stop)


def is_complete(record: TrialRecord) -> bool:
    """Whether a trial ended as it was meant to: one that a Ctrl-C cut short is asked for again."""
    load, stop = record.load, record.spec.stop
    if load is None or load.stopped != "interrupted" or record.pruned_at is not None:
        return True
    return stop is not None and stop.transactions is not None and load.transactions >= stop.transactions


def _asked_for(ask: Ask, records: Mapping[str, TrialRecord]) -> dict[str, TrialRecord]:
    """The records that are what is asked for now.

    With another budget a resumed run may ask for something else than it did: then the block is run again.
    """
    wanted = {arm.name: (dict(arm.settings), arm.server) for arm in ask.arms}
    return {
        name: record
        for name, record in records.items()
        if wanted.get(name) == (dict(record.spec.settings), record.spec.server)
    }


def asked(name: str, settings: Mapping[str, str], base: ArmSpec) -> WantedArm:
    """An arm on the server of ``base``."""
    return WantedArm(name=name, settings=dict(settings), server=base.server)
