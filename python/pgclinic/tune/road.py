"""The road of every adaptive plan: its blocks run as those of all experiments do, within a budget of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pgclinic.experiment.execute import Listener
from pgclinic.experiment.road import Experiment, follow
from pgclinic.model.block import BlockSpec
from pgclinic.model.plan import ArmSpec
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.tune.ask import AdaptivePlan, Strategy
from pgclinic.tune.ledger import Ledger, Limits

Found = TypeVar("Found")


class SpentTime:
    """What is left of a budget when nobody knows how many blocks there will be."""

    def __init__(self, budget_s: float, done: Sequence[TrialRecord] = ()) -> None:
        self._budget_s = budget_s
        self._spent_s = sum(one.elapsed_s for one in done)

    @property
    def blocks_most(self) -> int:
        """Not known."""
        return 0

    @property
    def open_ended(self) -> bool:
        return True

    def block_begins(self, block: BlockSpec) -> None:
        pass

    def trial_begins(self, spec: TrialSpec) -> None:
        pass

    def trial_ended(self, record: TrialRecord) -> None:
        self._spent_s += record.elapsed_s

    def left_s(self) -> float:
        return max(0.0, self._budget_s - self._spent_s)


def run_strategy(
    experiment: Experiment, base: ArmSpec, strategy: Callable[[Ledger], Strategy[Found]], listener: Listener
) -> Found | None:
    """What the strategy found; None where it was interrupted before.

    ``base`` is the arm whose server, data and load all trials have; the run's own budget and the load's own length are
    those of the strategy. Raises as ``execute`` does.
    """
    limits = Limits(budget_s=experiment.info.budget_s, measure_s=base.load.measure_s or 1.0)
    plan = AdaptivePlan(
        lambda: strategy(Ledger(base, limits)),
        base,
        seed=experiment.info.seed,
        last_number=experiment.folder.last_number(),
        wants_plans=experiment.plan.wants_plans,
    )
    follow(experiment, plan, SpentTime(limits.budget_s, experiment.done), listener)
    return plan.found
