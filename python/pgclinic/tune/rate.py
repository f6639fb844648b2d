"""What one trial says of a configuration: its work per second, how sure that is, and how far it came.

Commits are what users wait for: where transactions fail by conflicts, statements are no measure of them. But on a
server that commits once a minute only statements come by the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pgclinic.model.load import LoadResult
from pgclinic.model.trial import Counted, TrialOutcome, TrialRecord, TrialStage
from pgclinic.model.tuning import AttemptOutcome
from pgclinic.stats.summary import mean, median, standard_deviation

#: To a count below this half a one is added, so that none at all is a rate too.
FEW = 30
#: So many commits of a trial tell its rate to a tenth.
COMMITS_MIN = 100
#: No machine repeats a short trial better than this, as a standard deviation of the logarithm.
DEVIATION_MIN = 0.02
DEVIATION_MAX = 0.5
#: Of the transactions that were tried: from this share on, the server does not do the work that is being counted.
NOT_SERVED_SHARE = 0.05
#: What the server could not do, by class of SQLSTATE: connections, resources, limits, objects in a wrong state, an
#: operator's or a time-out's intervention, the system, itself. Conflicts between transactions (40) and what a script's
#: own data leads to (22, 23, 42, P0) happen on the base as well, and are part of the workload.
_NOT_SERVED = ("08", "25", "53", "54", "55", "57", "58", "F0", "XX")
#: What makes the median absolute deviation of so many normal values unbiased.
_MAD_SMALL = (1.0, 1.0, 1.196, 1.495, 1.363, 1.206, 1.2, 1.14, 1.129, 1.107)
_NO_SESSION = ("connection", "protocol")
_STAGES = {
    TrialStage.SETTINGS: AttemptOutcome.REJECTED,
    TrialStage.START: AttemptOutcome.REFUSED,
    TrialStage.LOAD: AttemptOutcome.CLIENTS_FAILED,
}


@dataclass(frozen=True)
class AttemptRate:
    """``count`` in ``measured_s`` seconds. Without any, ``outcome`` says why there are none."""

    outcome: AttemptOutcome
    count: int = 0
    measured_s: float = 0.0

    @property
    def is_measured(self) -> bool:
        return self.outcome in (AttemptOutcome.DONE, AttemptOutcome.PRUNED)

    @property
    def per_s(self) -> float:
        if self.measured_s <= 0:
            return 0.0
        return (self.count + (0.5 if self.count < FEW else 0.0)) / self.measured_s

    @property
    def log(self) -> float:
        """Of ``per_s``. Raises ValueError for what was not measured."""
        return math.log(self.per_s)

    @property
    def count_variance(self) -> float:
        """Of ``log``, from the count alone."""
        return 1.0 / max(self.count, 0.5)


def outcome_of(record: TrialRecord) -> AttemptOutcome:
    """The four ways to fail kept apart from those that gave a measurement."""
    if record.outcome is TrialOutcome.FAILED or record.load is None:
        return _STAGES.get(record.failed_in or TrialStage.LOAD, AttemptOutcome.CLIENTS_FAILED)
    if not_served(record.load) is not None:
        return AttemptOutcome.CLIENTS_FAILED
    if record.load.statements == 0:
        return AttemptOutcome.NO_WORK
    return AttemptOutcome.PRUNED if record.outcome is TrialOutcome.PRUNED else AttemptOutcome.DONE


def not_served(load: LoadResult) -> str | None:
    """Why clients could not work: errors come fast, and say nothing of the server's speed. None where they could."""
    if load.clients_lost:
        return f"{load.clients_lost} of {load.clients} clients lost the server"
    failures = [failure for failure in load.failures if failure.sqlstate.startswith((*_NOT_SERVED, *_NO_SESSION))]
    failed = sum(failure.count for failure in failures)
    tried = load.transactions + load.rolled_back + load.failed
    if failed <= NOT_SERVED_SHARE * tried:
        return None
    most = max(failures, key=lambda one: one.count)
    return f"{failed:,} of {tried:,} transactions failed: {most.message} ({most.sqlstate})"


def reason_of(record: TrialRecord) -> str | None:
    """Why a trial gave no measurement; None where it gave one."""
    if record.failure is not None or record.load is None:
        return record.failure
    return not_served(record.load) or ("no statement was finished" if record.load.statements == 0 else None)


def rate_of(record: TrialRecord, counted: Counted = Counted.STATEMENTS) -> AttemptRate:
    load = record.load
    if load is None:
        return AttemptRate(outcome_of(record))
    count = load.statements if counted is Counted.STATEMENTS else load.transactions
    return AttemptRate(outcome_of(record), count, load.measured_s)


def pooled(rates: Sequence[AttemptRate]) -> AttemptRate:
    """The rate of several trials of one configuration, all of them measured."""
    outcome = AttemptOutcome.DONE if any(rate.outcome is AttemptOutcome.DONE for rate in rates) else rates[0].outcome
    return AttemptRate(outcome, sum(rate.count for rate in rates), math.fsum(rate.measured_s for rate in rates))


def counted_by(records: Iterable[TrialRecord]) -> Counted:
    """Transactions where each of these trials committed enough of them, else statements."""
    loads = [record.load for record in records]
    is_enough = all(load is not None and load.transactions >= COMMITS_MIN for load in loads)
    return Counted.TRANSACTIONS if loads and is_enough else Counted.STATEMENTS


def deviation_of(groups: Sequence[Sequence[AttemptRate]], *, typical: bool = False) -> float:
    """The standard deviation of the logarithm from trial to trial, without what counting itself adds.

    Each group has trials of one configuration; those of all are pooled. Within bounds: a few trials cannot say that a
    machine has no noise, nor that it has nothing else. ``typical`` is of those trials that did not stall: from the
    median absolute deviation, which one in five does not move.
    """
    spread = _typical_deviation if typical else standard_deviation
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [rate.log for rate in group if rate.is_measured]
        if len(logs) > 1:
            counted = mean([rate.count_variance for rate in group if rate.is_measured])
            squares += max(spread(logs) ** 2 - counted, 0.0) * (len(logs) - 1)
            freedom += len(logs) - 1
    seen = math.sqrt(squares / freedom) if freedom else DEVIATION_MAX / 5
    return min(max(seen, DEVIATION_MIN), DEVIATION_MAX)


def _typical_deviation(values: Sequence[float]) -> float:
    """Of two or more. Factors for small samples: Croux and Rousseeuw, 1992, Time-efficient algorithms."""
    centre = median(values)
    size = len(values)
    small = _MAD_SMALL[size] if size < len(_MAD_SMALL) else size / (size - 0.8)
    return small * 1.4826 * median([abs(one - centre) for one in values])


def variation_of(record: TrialRecord) -> float:
    """The coefficient of variation of a trial's seconds, at least 0.05; 0.3 where too few are known."""
    load = record.load
    counts = [float(second.transactions) for second in load.seconds] if load is not None else []
    if len(counts) < 3 or mean(counts) <= 0:
        return 0.3
    poisson = 1.0 / mean(counts)
    return min(max(math.sqrt(max((standard_deviation(counts) / mean(counts)) ** 2 - poisson, 0.0)), 0.05), 0.5)
