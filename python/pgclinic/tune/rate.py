"""What one trial says of a configuration: its statements per second, how sure that is, and how far it came.

Statements and not transactions: on a server that commits once a minute they still come by the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.trial import TrialOutcome, TrialRecord, TrialStage
from pgclinic.model.tuning import AttemptOutcome
from pgclinic.stats.summary import mean, standard_deviation

#: Below so many statements half a one is added, so that none at all is a rate too.
FEW = 30
#: No machine repeats a short trial better than this, as a standard deviation of the logarithm.
DEVIATION_MIN = 0.02
DEVIATION_MAX = 0.5
_STAGES = {
    TrialStage.SETTINGS: AttemptOutcome.REJECTED,
    TrialStage.START: AttemptOutcome.REFUSED,
    TrialStage.LOAD: AttemptOutcome.CLIENTS_FAILED,
}


@dataclass(frozen=True)
class Rate:
    """``statements`` in ``measured_s`` seconds. Without any, ``outcome`` says why there are none."""

    outcome: AttemptOutcome
    statements: int = 0
    measured_s: float = 0.0

    @property
    def is_measured(self) -> bool:
        return self.outcome in (AttemptOutcome.DONE, AttemptOutcome.PRUNED)

    @property
    def per_s(self) -> float:
        if self.measured_s <= 0:
            return 0.0
        return (self.statements + (0.5 if self.statements < FEW else 0.0)) / self.measured_s

    @property
    def log(self) -> float:
        """Of ``per_s``. Raises ValueError for what was not measured."""
        return math.log(self.per_s)

    @property
    def count_variance(self) -> float:
        """Of ``log``, from the count alone."""
        return 1.0 / max(self.statements, 0.5)


def outcome_of(record: TrialRecord) -> AttemptOutcome:
    """The four ways to fail kept apart from those that gave a measurement."""
    if record.outcome is TrialOutcome.FAILED or record.load is None:
        return _STAGES.get(record.failed_in or TrialStage.LOAD, AttemptOutcome.CLIENTS_FAILED)
    if record.load.statements == 0:
        return AttemptOutcome.NO_WORK
    return AttemptOutcome.PRUNED if record.outcome is TrialOutcome.PRUNED else AttemptOutcome.DONE


def rate_of(record: TrialRecord) -> Rate:
    load = record.load
    if load is None:
        return Rate(outcome_of(record))
    return Rate(outcome_of(record), load.statements, load.measured_s)


def deviation_of(groups: Sequence[Sequence[Rate]]) -> float:
    """The standard deviation of the logarithm from trial to trial, without what counting itself adds.

    Each group has trials of one configuration; those of all are pooled. Within bounds: a few trials cannot say that a
    machine has no noise, nor that it has nothing else.
    """
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [one.log for one in group if one.is_measured]
        if len(logs) > 1:
            counted = mean([one.count_variance for one in group if one.is_measured])
            squares += max(standard_deviation(logs) ** 2 - counted, 0.0) * (len(logs) - 1)
            freedom += len(logs) - 1
    seen = math.sqrt(squares / freedom) if freedom else DEVIATION_MAX / 5
    return min(max(seen, DEVIATION_MIN), DEVIATION_MAX)


def variation_of(record: TrialRecord) -> float:
    """The coefficient of variation of a trial's seconds, at least 0.05; 0.3 where too few are known."""
    load = record.load
    counts = [float(second.transactions) for second in load.seconds] if load is not None else []
    if len(counts) < 3 or mean(counts) <= 0:
        return 0.3
    poisson = 1.0 / mean(counts)
    return min(max(math.sqrt(max((standard_deviation(counts) / mean(counts)) ** 2 - poisson, 0.0)), 0.05), 0.5)
