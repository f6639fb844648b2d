"""What the time of one trial went into: its sessions, its server's work for a transaction, its statements. Pure."""

from __future__ import annotations

from pgclinic.model.activity import StatementShare, TrialActivity
from pgclinic.model.load import LoadResult
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.activity import session_us
from pgclinic.samples.deltas import Rate, happened
from pgclinic.samples.session_waits import session_waits
from pgclinic.samples.statement_times import statement_times
from pgclinic.samples.wait_groups import grouped
from pgclinic.samples.work import work_of

_STATEMENTS_MAX = 20
IDLE = "idle"


def trial_activity(trial: TrialRecord) -> TrialActivity | None:
    """None where nothing was measured."""
    load = trial.load
    if load is None or load.measured_s <= 0 or not load.clients:
        return None
    return TrialActivity(
        sessions=load.clients,
        session_us=session_us(trial),
        samples=_samples(trial, load.measured_s),
        waits=_waits(trial, load.clients),
        work=work_of(trial),
        checkpoints=_count(trial, Rate.CHECKPOINTS, load.measured_s),
        autovacuums=_count(trial, Rate.VACUUMS, load.measured_s),
        statements=_statements(trial, load),
    )


def _samples(trial: TrialRecord, measured_s: float) -> int:
    return sum(0 <= sample.at_s <= measured_s for sample in trial.samples.of("activity"))


def _waits(trial: TrialRecord, sessions: int) -> dict[str, float]:
    """Sessions that were seen neither running nor waiting were idle: the client had its turn."""
    if not _samples(trial, trial.load.measured_s if trial.load is not None else 0.0):
        return {}
    seen = grouped(session_waits(trial))
    # Others than the load may have sessions on this server, so that more are seen than the load has.
    of = max(float(sessions), sum(seen.values()))
    seen[IDLE] = of - sum(seen.values())
    shares = {name: value / of for name, value in seen.items() if value > 0}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _count(trial: TrialRecord, rate: Rate, measured_s: float) -> int | None:
    if len([sample for sample in trial.samples.of(rate.view) if sample.rows]) < 2:
        return None
    return round(sum(amount for _, amount in happened(trial.samples, rate, 0.0, measured_s)))


def _statements(trial: TrialRecord, load: LoadResult) -> tuple[StatementShare, ...]:
    """By what clients waited; TPC-C's transactions where the engine timed no single statements."""
    found = {statement.text: statement.us for statement in statement_times(trial).values()}
    if not found and load.transactions:
        found = {
            script.name: script.latency.mean_us * script.latency.count / load.transactions for script in load.scripts
        }
    whole_us = session_us(trial)
    shares = [
        StatementShare(text=text, us=us, share=us / whole_us if whole_us else 0.0) for text, us in found.items() if us
    ]
    return tuple(sorted(shares, key=lambda one: -one.us)[:_STATEMENTS_MAX])
