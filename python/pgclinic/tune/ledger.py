"""What an adaptive plan has spent and may still spend, and the blocks that it asks for."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.plan import ArmSpec
from pgclinic.model.trial import Counted, StopRule, TrialRecord
from pgclinic.model.tuning import WantedArm
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.summary import mean
from pgclinic.tune.ask import Ask, asked
from pgclinic.tune.rate import AttemptRate, deviation_of, rate_of

#: What a trial takes beyond its load before any has run: a copy of the data, a start, an end.
OVERHEAD_S_GUESS = 3.0
#: A count of so many tells a rate to a tenth; slow configurations are measured until it is as high, or for so long.
COUNT_WANTED = 100.0
LONGEST_S = 30.0
#: The interval of a mean of blocks is finite from so many on.
BLOCKS_MIN = 5


@dataclass(frozen=True)
class Limits:
    """``budget_s`` for all trials, ``measure_s`` for each of them."""

    budget_s: float
    measure_s: float


@dataclass(frozen=True)
class Block:
    """The rates of one block by the names of its arms, and the records that they are from."""

    rates: Mapping[str, AttemptRate]
    records: Mapping[str, TrialRecord]

    def is_measured(self, *names: str) -> bool:
        return all(self.rates[name].is_measured for name in names)

    def log_ratio(self, name: str, control: str) -> float:
        """Of two arms that were measured."""
        return self.rates[name].log - self.rates[control].log

    def count_variance(self, name: str, control: str) -> float:
        """Of ``log_ratio``, from both counts alone."""
        return self.rates[name].count_variance + self.rates[control].count_variance


class Ledger:
    """Asks for blocks and keeps what they gave. Time is what trials took, so that it is the same when it is retold."""

    def __init__(self, base: ArmSpec, limits: Limits) -> None:
        self.base = base
        self.limits = limits
        self.counted = Counted.STATEMENTS
        self.blocks: list[Block] = []
        self.spent_s = 0.0
        self.trials = 0
        self._measured_s = 0.0

    @property
    def left_s(self) -> float:
        return self.limits.budget_s - self.spent_s

    @property
    def overhead_s(self) -> float:
        """What a trial takes beyond the time that it is measured."""
        if self.trials < 2:
            return (self.base.load.warm_up_s or 0.0) + OVERHEAD_S_GUESS
        return max(0.0, self.spent_s - self._measured_s) / self.trials

    def trial_s(self, measure_s: float | None = None) -> float:
        """What a trial takes as a whole."""
        return (measure_s or self.limits.measure_s) + self.overhead_s

    def has_room_for(self, trials: int, *, measure_s: float | None = None, reserve_s: float = 0.0) -> bool:
        return self.left_s - reserve_s >= trials * self.trial_s(measure_s)

    def affordable_s(self, wanted_s: float, *, share: float, trials: int) -> float:
        """As long as is wanted, but so many trials may not take more than this share of the budget."""
        within_s = share * self.limits.budget_s / max(trials, 1) - self.overhead_s
        return max(self.limits.measure_s, min(wanted_s, within_s))

    def block(
        self,
        arms: Mapping[str, Mapping[str, str]],
        *,
        measure_s: float | None = None,
        stop: StopRule | None = None,
    ) -> Generator[Ask, tuple[TrialRecord, ...], Block]:
        """A trial of each of these configurations, by name."""
        return self.block_of(
            tuple(asked(name, settings, self.base) for name, settings in arms.items()), measure_s=measure_s, stop=stop
        )

    def block_of(
        self, arms: Sequence[WantedArm], *, measure_s: float | None = None, stop: StopRule | None = None
    ) -> Generator[Ask, tuple[TrialRecord, ...], Block]:
        """The same on servers of their own."""
        records = yield Ask(tuple(arms), measure_s or self.limits.measure_s, stop=stop)
        self.spent_s += sum(record.elapsed_s for record in records)
        self.trials += len(records)
        self._measured_s += sum(record.load.measured_s for record in records if record.load is not None)
        named = {record.spec.arm: record for record in records}
        made = self._counted_block(named)
        self.blocks.append(made)
        return made

    def count(self, counted: Counted) -> None:
        """Count this from now on, and in all blocks so far."""
        self.counted = counted
        self.blocks = [self._counted_block(block.records) for block in self.blocks]

    def _counted_block(self, records: Mapping[str, TrialRecord]) -> Block:
        return Block({name: rate_of(one, self.counted) for name, one in records.items()}, records)

    def measure_s(self, log: float) -> float:
        """How long a configuration of this logarithm of a rate is measured."""
        wanted_s = COUNT_WANTED / math.exp(log)
        return min(max(self.limits.measure_s, wanted_s), max(LONGEST_S, self.limits.measure_s))

    def measure_s_of(self, name: str) -> float:
        """The same for one that was measured before."""
        logs = [block.rates[name].log for block in self.blocks if name in block.rates and block.is_measured(name)]
        return self.measure_s(mean(logs)) if logs else self.limits.measure_s

    def measured(self, name: str) -> int:
        """How many trials of this configuration gave a measurement."""
        return sum(name in block.rates and block.is_measured(name) for block in self.blocks)

    def deviation(self, *names: str, typical: bool = False) -> float:
        """From trial to trial, from all that these arms gave; see ``deviation_of``."""
        groups = [[block.rates[name] for block in self.blocks if name in block.rates] for name in names]
        return deviation_of(groups, typical=typical)


def log_ratios(blocks: Sequence[Block], name: str, control: str) -> list[float]:
    """Of all blocks that measured both."""
    return [
        block.log_ratio(name, control)
        for block in blocks
        if name in block.rates and control in block.rates and block.is_measured(name, control)
    ]


def interval_of(values: Sequence[float], alpha: float = 0.05) -> tuple[float, float, float]:
    """The mean of log ratios of blocks with its confidence sequence; infinite limits for too few."""
    if not values:
        return 0.0, -math.inf, math.inf
    low, high = always_valid_interval(values, alpha)
    return mean(values), low, high
