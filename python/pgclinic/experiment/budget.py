"""What the budget of a run still allows, from what its trials have really taken."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pgclinic.model.block import BlockMode, BlockSpec
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.trial import TrialOutcome, TrialRecord, TrialSpec
from pgclinic.stats.summary import mean
from pgclinic.study.duration import OVERHEAD_S_GUESS, likely_warm_up_s

# By which part of the budget the last block that a verdict needs may overrun it where no profile says by how much:
# without that block all others were for nothing.
OVERRUN_SHARE = 0.25


class Budget:
    """Time: what trials take, what is spent, and what is left of it. It counts from when it is made.

    What ``done`` trials of a resumed run took is spent already. ``capacity`` blocks run at the same time.
    """

    def __init__(self, plan: ExperimentPlan, done: Sequence[TrialRecord] = (), *, capacity: int = 1) -> None:
        self._plan = plan
        self._capacity = capacity
        self._started_s = time.monotonic() - sum(record.elapsed_s for record in done)
        self._trial_started_s = self._started_s
        self._still: tuple[TrialSpec, ...] = ()
        self._block = 0
        self._together = False
        # By arm, what its trials took beyond their load as planned: a start, thousands of sessions, a longer warm-up.
        self._beyond_s: dict[str, list[float]] = {}
        for record in done:
            self.trial_ended(record)

    @property
    def open_ended(self) -> bool:
        return self._plan.profile.blocks_min < self._plan.profile.blocks_max

    @property
    def blocks_most(self) -> int:
        """Blocks that it would hold if trials took no longer than their load, and at most those of the plan."""
        profile = self._plan.profile
        load_s = sum(_load_s(arm) for arm in self._plan.arms.values())
        within = int(self._capacity * profile.budget_s / max(0.001, load_s))
        return max(1, min(profile.blocks_max, max(within, profile.blocks_min)))

    def block_begins(self, block: BlockSpec) -> None:
        self._block, self._still = block.number, block.trials
        self._together = block.mode is BlockMode.INTERLEAVED
        self._trial_started_s = time.monotonic()

    def trial_begins(self, spec: TrialSpec) -> None:
        if self._together:
            # All trials of the block began with it.
            return
        self._trial_started_s = time.monotonic()
        at = next((at for at, one in enumerate(self._still) if one.number == spec.number), 0)
        self._still = self._still[at:]

    def trial_ended(self, record: TrialRecord) -> None:
        if record.outcome is TrialOutcome.DONE:
            load_s = likely_warm_up_s(record.spec.load.warm_up_s, record.spec.warm_up_ends)
            beyond_s = max(0.5, record.elapsed_s - load_s - (record.spec.load.measure_s or 0.0))
            self._beyond_s.setdefault(record.spec.arm, []).append(beyond_s)

    def has_room_for_block(self, number: int) -> bool:
        """Whether block ``number`` may begin; that without which there is no verdict may overrun the budget a bit."""
        profile = self._plan.profile
        overrun_s = profile.overrun_s if profile.overrun_s is not None else OVERRUN_SHARE * profile.budget_s
        end_s = profile.budget_s + (overrun_s if number == profile.blocks_min else 0.0)
        return time.monotonic() - self._started_s + self._block_s() <= end_s

    def left_s(self) -> float:
        """Seconds until the last block that the budget holds would end."""
        later_blocks = max(0, self._blocks_likely() - self._block)
        in_block_s = sum(self._takes_s(spec.arm) for spec in self._still)
        in_trial_s = time.monotonic() - self._trial_started_s if self._still else 0.0
        return max(0.0, later_blocks * self._block_s() / self._capacity + in_block_s - in_trial_s)

    def _blocks_likely(self) -> int:
        """Blocks that the budget holds, and at most those of the plan."""
        profile = self._plan.profile
        return max(1, min(profile.blocks_max, int(self._capacity * profile.budget_s / self._block_s())))

    def _block_s(self) -> float:
        return sum(self._takes_s(arm) for arm in self._plan.arms)

    def _takes_s(self, arm: str) -> float:
        """As the arm's trials did; where it has had none, as those of the others."""
        seen = self._beyond_s.get(arm) or [each for trials in self._beyond_s.values() for each in trials]
        return _load_s(self._plan.arms[arm]) + (mean(seen) if seen else OVERHEAD_S_GUESS)


def _load_s(arm: ArmSpec) -> float:
    return likely_warm_up_s(arm.load.warm_up_s, arm.warm_up_ends) + (arm.load.measure_s or 0.0)
