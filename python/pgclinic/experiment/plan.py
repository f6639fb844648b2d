"""Which block comes next: ask-and-tell. A plan is asked for a block and told all trials so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from pgclinic.experiment.budget import Budget
from pgclinic.experiment.window_length import window_length
from pgclinic.judge.doubts.stalled_trials import block_to_repeat
from pgclinic.judge.lost_work import without_lost_work
from pgclinic.judge.verdict import decided, judge
from pgclinic.model.block import BlockMode, BlockSpec
from pgclinic.model.doubt import Doubt
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.trial import TrialOutcome, TrialRecord, TrialSpec
from pgclinic.model.verdict import Verdict
from pgclinic.stats.block_order import block_order, blocks_in_cycle, load_seed
from pgclinic.trial.window_plan import GUARD_S, WINDOW_S

# An arm that failed in this many blocks one after the other will not succeed in the next.
HOPELESS_BLOCKS = 2


class Plan(Protocol):
    """What decides which block is run next: fixed plans of studies and comparisons, adaptive ones of searches."""

    def next_block(self, records: Sequence[TrialRecord], running: Collection[int] = ()) -> BlockSpec | None:
        """The block to run next given the records of all trials so far, beside the blocks that run now, by number.

        None when there is none: with nothing running the experiment is over.
        """
        ...


class CounterbalancedPlan:
    """One trial of every arm in each block, until every claim is decided, all blocks have run or the budget is spent.
    A block with a stall that the machine explains is run once more.

    A block that was started is finished, whatever the budget says; ``done`` trials of a resumed run are not repeated,
    and new ones are numbered from ``last_number``. ``beforehand`` are doubts about the run as a whole. ``window_s`` is
    how long an arm of an interleaved block has the load, None for the usual time. ``verdict`` is what the trials that
    it was last told say, and ``on_verdict`` is called with each new one.
    """

    def __init__(
        self,
        plan: ExperimentPlan,
        budget: Budget,
        *,
        done: Sequence[TrialRecord] = (),
        last_number: int = 0,
        beforehand: tuple[Doubt, ...] = (),
        window_s: float | None = None,
        on_verdict: Callable[[Verdict], None] = lambda _: None,
    ) -> None:
        self._plan = plan
        self._budget = budget
        self._number = last_number
        # A trial that a Ctrl-C cut short is repeated by the command that resumes the run, never by its own.
        self._cut_short = {trial.spec.number for trial in done if was_interrupted(trial)}
        self._beforehand = beforehand
        self._window_s = window_s
        self._on_verdict = on_verdict
        self._told = -1
        self.verdict = judge(plan, (), beforehand)

    def next_block(self, records: Sequence[TrialRecord], running: Collection[int] = ()) -> BlockSpec | None:
        if len(records) != self._told:
            self._told = len(records)
            self.verdict = judge(self._plan, tuple(records), self._beforehand)
            if records:
                self._on_verdict(self.verdict)
        again = self._again(records, running)
        if again is not None:
            return again
        block, lacks_all = self._next(records, running)
        finished = block.number - 1 - len(running) if block is not None else 0
        if block is None or (finished > 0 and self._may_stop(finished, records)):
            return None
        if block.number > 1 and lacks_all and not self._budget.has_room_for_block(block.number):
            return None
        self._number = max(spec.number for spec in block.trials)
        return block

    def _again(self, records: Sequence[TrialRecord], running: Collection[int]) -> BlockSpec | None:
        """A block with a stall that the machine explains, once and within the budget; both records stay in the run."""
        number = block_to_repeat(self._plan.study.questions, records)
        if number is None or number in running or not self._budget.has_room_for_block(number):
            return None
        trials = planned_trials(self._plan, number)
        block = self._block(
            number,
            tuple(replace(spec, number=self._number + at) for at, spec in enumerate(trials, start=1)),
            window_s=self._window(records),
        )
        self._number = max(spec.number for spec in block.trials)
        return block

    def _next(self, records: Sequence[TrialRecord], running: Collection[int]) -> tuple[BlockSpec | None, bool]:
        """The first block that lacks a trial and is not running, with what it lacks, and whether it lacks all."""
        usable = without_lost_work(records)
        window_s = self._window(records)
        have = {(trial.spec.block, trial.spec.arm) for trial in usable if trial.spec.number not in self._cut_short}
        for number in range(1, self._plan.profile.blocks_max + 1):
            if number in running:
                continue
            trials = planned_trials(self._plan, number)
            missing = [spec for spec in trials if (number, spec.arm) not in have]
            if missing:
                # Arms that take turns run together or not at all.
                wanted = trials if window_s is not None else missing
                # No number is ever used twice, not even that of a trial that was cut off.
                numbered = tuple(replace(spec, number=self._number + at) for at, spec in enumerate(wanted, start=1))
                return self._block(number, numbered, window_s=window_s), len(missing) == len(trials)
        return None, False

    def _window(self, records: Sequence[TrialRecord]) -> float | None:
        """How long an arm has the load at a time; None where the blocks are sequential."""
        if not self._plan.profile.interleaved:
            return None
        measure_s = min(arm.load.measure_s or 0.0 for arm in self._plan.arms.values())
        return window_length(
            records,
            usual_s=self._window_s if self._window_s is not None else WINDOW_S,
            longest_s=measure_s / blocks_in_cycle(len(self._plan.arms)),
        )

    def _block(self, number: int, trials: tuple[TrialSpec, ...], *, window_s: float | None) -> BlockSpec:
        if window_s is None:
            return BlockSpec(number=number, trials=trials)
        return BlockSpec(number=number, trials=trials, mode=BlockMode.INTERLEAVED, window_s=window_s, guard_s=GUARD_S)

    def _may_stop(self, finished: int, records: Sequence[TrialRecord]) -> bool:
        if finished >= self._plan.profile.blocks_min and decided(self.verdict):
            return True
        return self._hopeless(records)

    def _hopeless(self, records: Sequence[TrialRecord]) -> bool:
        """Every claim needs an arm that has failed in each of its last blocks, and never worked before."""
        hopeless = {
            arm for arm in self._plan.arms if _never_works([record for record in records if record.spec.arm == arm])
        }
        return all(claim.arm in hopeless or claim.control in hopeless for claim in self._plan.study.questions)


def planned_trials(plan: ExperimentPlan, block: int) -> tuple[TrialSpec, ...]:
    """The trials of ``block``, counted from 1, in its order.

    The seed alone decides the order. All arms of a block get the same load seed, so that they draw the same rows.
    """
    names = block_order(tuple(plan.arms), plan.seed, block)
    return tuple(
        trial_of(
            plan.arms[name],
            name,
            number=(block - 1) * len(names) + position,
            block=block,
            position=position,
            seed=load_seed(plan.seed, block),
            wants_plans=plan.wants_plans,
        )
        for position, name in enumerate(names, start=1)
    )


def trial_of(
    arm: ArmSpec, name: str, *, number: int, block: int, position: int, seed: int, wants_plans: bool = False
) -> TrialSpec:
    """The order for one trial of ``arm``."""
    return TrialSpec(
        number=number,
        block=block,
        position=position,
        arm=name,
        server=arm.server,
        settings=arm.settings,
        dataset=arm.dataset,
        traffic=arm.traffic,
        condition=arm.condition,
        load=replace(arm.load, seed=seed),
        probe=arm.probe,
        custom_metrics=arm.custom_metrics,
        pages=arm.pages,
        warm_up_ends=arm.warm_up_ends,
        wants_plans=wants_plans,
    )


def was_interrupted(trial: TrialRecord) -> bool:
    return trial.load is not None and trial.load.stopped == "interrupted"


def _never_works(records: Sequence[TrialRecord]) -> bool:
    return len(records) >= HOPELESS_BLOCKS and all(record.outcome is TrialOutcome.FAILED for record in records)
