"""What every arm did by itself, over all its trials: the steps of a ladder, under each way of counting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import EVENTS_WHEN_NONE, never_started
from pgclinic.judge.interval import FEW_EVENTS
from pgclinic.model.load import LoadResult, SecondFailure
from pgclinic.model.study import ArmFile, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import ArmSeen
from pgclinic.stats.dispersed_counts import dispersed_limits
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean


def arms_seen(study: Study, trials: Sequence[TrialRecord]) -> tuple[ArmSeen, ...]:
    """One entry an arm that was tried, in the order of the study file."""
    return tuple(
        _arm_seen(name, arm, own)
        for name, arm in study.arms.items()
        if (own := [trial for trial in trials if trial.spec.arm == name])
    )


def _arm_seen(name: str, arm: ArmFile, trials: Sequence[TrialRecord]) -> ArmSeen:
    usable = [trial for trial in trials if trial.outcome is TrialOutcome.DONE and trial.load is not None]
    loads = [trial.load for trial in usable if trial.load is not None and trial.load.measured_s > 0]
    exposure_s = sum(load.measured_s for load in loads)
    commits = sum(load.transactions for load in loads)
    low, high = _limits(loads)
    ages = [flight.age_us for load in loads for flight in load.in_flight]
    return ArmSeen(
        arm=name,
        trials=len(loads),
        exposure_s=exposure_s,
        commits=commits,
        tps=_rate(commits, exposure_s),
        tps_low=low,
        tps_high=high,
        throughput=_rate(sum(_ended_inside(load) for load in loads), exposure_s),
        goodput=_rate(sum(load.transactions + load.warm_up_transactions for load in loads), exposure_s),
        statements_per_s=_rate(sum(load.statements for load in loads), exposure_s),
        rolled_back=sum(load.rolled_back for load in loads),
        failures=_failures(loads),
        running=mean([len(load.in_flight) for load in loads]) if loads else 0.0,
        oldest_s=max(ages) / 1e6 if ages else None,
        counters=_counters(usable),
        published_tps=arm.published_tps,
        published_text=arm.published_text,
        refusal=never_started(name, trials),
    )


def _rate(events: int, exposure_s: float) -> float:
    return events / exposure_s if exposure_s > 0 else 0.0


def _ended_inside(load: LoadResult) -> int:
    """Whatever began and ended while measuring, whatever its fate: what BenchBase calls throughput."""
    begun_before = sum(script.begun_before for script in load.scripts)
    return max(0, load.transactions + load.rolled_back + load.failed - begun_before)


def _limits(loads: Sequence[LoadResult]) -> tuple[float | None, float | None]:
    """95 % limits of the commits a second: those of a count where there are few, else from trial to trial."""
    if not loads:
        return None, None
    exposure_s, counts = sum(load.measured_s for load in loads), [load.transactions for load in loads]
    if sum(counts) < FEW_EVENTS:
        low, high = dispersed_limits(counts)
        return low / exposure_s, high / exposure_s
    if len(loads) < 2:
        return None, None
    low, high = t_interval([math.log((load.transactions or EVENTS_WHEN_NONE) / load.measured_s) for load in loads])
    return math.exp(low), math.exp(high)


def _failures(loads: Sequence[LoadResult]) -> tuple[SecondFailure, ...]:
    counts: dict[str, int] = {}
    for load in loads:
        for failure in load.failures:
            counts[failure.sqlstate] = counts.get(failure.sqlstate, 0) + failure.count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(SecondFailure(sqlstate=sqlstate, count=count) for sqlstate, count in ordered)


def _counters(trials: Sequence[TrialRecord]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for trial in trials:
        for counter, value in trial.counters.items():
            values.setdefault(counter, []).append(value)
    return {counter: mean(seen) for counter, seen in values.items()}
