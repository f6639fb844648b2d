"""Statements: what each of them cost, what it waited for and by which plans it ran, one trial of each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.statement import FingerprintMethod, StatementPlan, StatementSeen, StatementsSeen
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvents
from pgclinic.model.verdict import Verdict
from pgclinic.model.version import parse_version
from pgclinic.report.parts.table import PageTable
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.server.view import chosen_trial, of_trials
from pgclinic.report.words.figures import count, number, size
from pgclinic.samples.statements import statements_seen

TOP = 10
_NONE = "-"
_TEXT_MAX = 160
_HEADS = (
    "Statement",
    "Calls",
    "Mean in the server",
    "Client's p50, p99",
    "Rows a call",
    "Pages a call, found + read",
    "WAL a call",
    "Waited for",
    "Query id",
)
_ENGINE_HEADS = ("Statement", "Calls", "Mean", "p50, p99", "Waited for", "Query id")


@dataclass(frozen=True)
class PlanShown:
    """A plan with its statement and what it took, in words."""

    statement: str
    words: str
    plan: str


@dataclass(frozen=True)
class ArmStatements:
    """One arm's chosen trial. ``index`` is the arm's place in the study, ``notes`` say where the figures come from."""

    arm: str
    index: int
    title: str
    table: PageTable
    plans: tuple[PlanShown, ...]
    notes: tuple[str, ...]


def arms_statements(study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> tuple[ArmStatements, ...]:
    """The arms of which more is known than that their only statement was their transaction."""
    shown = []
    for index, arm in enumerate(study.arms):
        trial = chosen_trial(arm, trials, verdict)
        one = arm_statements(index, trial) if trial is not None else None
        if one is not None:
            shown.append(one)
    return tuple(shown)


def arm_statements(index: int, trial: TrialRecord, title: str | None = None) -> ArmStatements | None:
    """One trial's, None where nothing more is known than that its only statement was its transaction.

    ``title`` instead of which trial of which block it is.
    """
    if trial.server_version is None:
        return None
    major = parse_version(trial.server_version).major
    seen = statements_seen(trial.samples, trial.load, trial.events, major=major, limit=TOP)
    if seen.counted_by_server or len(seen.statements) > 1 or any(statement.plans for statement in seen.statements):
        return _shown(index, trial, seen, title or f"Trial {trial.spec.number}, block {trial.spec.block}")
    return None


def _shown(index: int, trial: TrialRecord, seen: StatementsSeen, title: str) -> ArmStatements:
    cells = _counted_cells if seen.counted_by_server else _engine_cells
    return ArmStatements(
        arm=trial.spec.arm,
        index=index,
        title=title,
        table=PageTable(
            caption=f"The statements of {trial.spec.arm} with the highest total time",
            heads=_HEADS if seen.counted_by_server else _ENGINE_HEADS,
            rows=tuple(cells(statement) for statement in seen.statements),
        ),
        plans=tuple(_plan(statement, plan) for statement in seen.statements for plan in statement.plans),
        notes=(*_notes(seen), *_log_words(trial.events)),
    )


def _counted_cells(one: StatementSeen) -> tuple[str, ...]:
    return (
        short(one.text),
        number(one.calls),
        _duration(one.mean_ms),
        _percentiles(one),
        _a_call(one.rows, one.calls),
        f"{_a_call(one.hits, one.calls)} + {_a_call(one.reads, one.calls)}",
        size(one.wal_bytes / one.calls) if one.wal_bytes is not None else _NONE,
        _waits(one),
        str(one.query_id),
    )


def _engine_cells(one: StatementSeen) -> tuple[str, ...]:
    return (
        short(one.text),
        number(one.calls),
        _duration(one.mean_ms),
        _percentiles(one),
        _waits(one),
        str(one.query_id) if one.query_id is not None else _NONE,
    )


def short(text: str) -> str:
    """A statement on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_MAX else f"{line[:_TEXT_MAX]}..."


def _duration(ms: float) -> str:
    return f"{number(ms)} ms" if ms >= 0.1 else f"{number(ms * 1000)} µs"


def _percentiles(one: StatementSeen) -> str:
    return _NONE if one.p50_ms is None or one.p99_ms is None else f"{_duration(one.p50_ms)}, {_duration(one.p99_ms)}"


def _a_call(value: float | None, calls: float) -> str:
    return _NONE if value is None else number(value / calls)


def _waits(one: StatementSeen) -> str:
    """Most often first; how many sessions did so at a time, on average."""
    return ", ".join(f"{wait.wait} {number(wait.backends)}" for wait in one.waits) or _NONE


def _plan(one: StatementSeen, plan: StatementPlan) -> PlanShown:
    words = f"{count(plan.logged, 'time')} in the events kept; mean {_duration(plan.mean_ms)}, slowest"
    return PlanShown(statement=short(one.text), words=f"{words} {_duration(plan.max_ms)}: this one", plan=plan.plan)


def _notes(seen: StatementsSeen) -> tuple[str, ...]:
    by_server = (
        "Calls and their cost are those of pg_stat_statements, including the warm-up; percentiles are client latencies "
        "while measuring. The figure of a wait is the mean number of sessions waiting."
    )
    by_engine = "The server counted no statements (pg_stat_statements): the figures are latencies of the load engine."
    return (by_server if seen.counted_by_server else by_engine, _how_joined(seen.fingerprints_by), *_plan_words(seen))


def _log_words(events: TrialEvents) -> tuple[str, ...]:
    """Why plans may be missing."""
    if events.problem is not None:
        return (f"No plans: {events.problem}.",)
    if events.unread_bytes:
        return (f"Plans are those of the first part of the log; {size(events.unread_bytes)} of it were not read.",)
    return ()


def _how_joined(method: FingerprintMethod) -> str:
    if method is FingerprintMethod.PARSER:
        return "The engine's statements and the server's are matched by fingerprints of PostgreSQL's own parser."
    return (
        "The engine's statements and the server's are matched by their words without constants, as postgast, "
        "PostgreSQL's own parser as a library, could not be loaded."
    )


def _plan_words(seen: StatementsSeen) -> tuple[str, ...]:
    parts = [f"{seen.plans_by_query_id:,} by query id"] if seen.plans_by_query_id else []
    parts += [f"{seen.plans_by_fingerprint:,} by the fingerprint of their text"] if seen.plans_by_fingerprint else []
    parts += [f"{seen.plans_unmatched:,} not matched"] if seen.plans_unmatched else []
    return (f"Plans in the log matched to statements: {', '.join(parts)}.",) if parts else ()


@dataclass(frozen=True)
class StatementsView:
    arms: tuple[ArmStatements, ...]
    what: str


def statements_view(one: ReportedStudy) -> StatementsView | None:
    arms = arms_statements(one.study, one.trials, one.verdict)
    return StatementsView(arms, of_trials(len(arms))) if arms else None
