"""Statements: what each of them cost and what it waited for, one trial of each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.statement import FingerprintMethod, StatementSeen, StatementsSeen
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvents
from pgclinic.model.verdict import Verdict
from pgclinic.model.version import parse_version
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.server.view import chosen_trial, of_trials
from pgclinic.report.sections.statements.spark import Spark, spark_of
from pgclinic.report.words.figures import number, size
from pgclinic.samples.statement_course import Course, statement_courses
from pgclinic.samples.statements import statements_seen

TOP = 10
_NONE = "-"


@dataclass(frozen=True)
class StatementHead:
    """``is_figure`` says that its cells are set to the right."""

    words: str
    is_figure: bool


@dataclass(frozen=True)
class StatementCell:
    """``value`` is what rows are sorted by; None where the words are, or nothing is known. ``spark`` is drawn above
    the words."""

    words: str
    value: float | None = None
    spark: Spark | None = None


@dataclass(frozen=True)
class StatementRow:
    """One statement: its whole text, and what stands beside it."""

    text: str
    cells: tuple[StatementCell, ...]


def _heads(*figures: str) -> tuple[StatementHead, ...]:
    """Text first; the course of the mean, waits and id last."""
    named = tuple(StatementHead(words, is_figure=True) for words in figures)
    last = tuple(StatementHead(words, is_figure=False) for words in ("Mean over time", "Waited for", "Query id"))
    return (StatementHead("Statement", is_figure=False), *named, *last)


_HEADS = _heads(
    "Calls",
    "Mean in the server",
    "Client's p50, p99",
    "Rows per call",
    "Buffers per call, hit + read",
    "WAL per call",
)
_ENGINE_HEADS = _heads("Calls", "Mean", "p50, p99")


@dataclass(frozen=True)
class ArmStatements:
    """One arm's chosen trial. ``index`` is the arm's place in the study, ``notes`` say where the figures come from."""

    arm: str
    index: int
    title: str
    caption: str
    heads: tuple[StatementHead, ...]
    rows: tuple[StatementRow, ...]
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
    courses = statement_courses(trial.samples)
    rows = [
        (*cells(one), _course(courses.get(one.query_id or 0, ())), _waits(one), _query_id(one))
        for one in seen.statements
    ]
    all_heads = _HEADS if seen.counted_by_server else _ENGINE_HEADS
    # A column of which nothing is known takes width from the texts.
    known = [at for at in range(len(all_heads) - 1) if any(row[at].words != _NONE for row in rows)]
    return ArmStatements(
        arm=trial.spec.arm,
        index=index,
        title=title,
        caption=f"The statements of {trial.spec.arm} with the highest total time",
        heads=(all_heads[0], *(all_heads[at + 1] for at in known)),
        rows=tuple(
            StatementRow(one.text, tuple(row[at] for at in known))
            for one, row in zip(seen.statements, rows, strict=True)
        ),
        notes=(*_notes(seen), *_log_words(trial.events)),
    )


def _counted_cells(one: StatementSeen) -> tuple[StatementCell, ...]:
    pages = None if one.hits is None or one.reads is None else (one.hits + one.reads) / one.calls
    wal = one.wal_bytes / one.calls if one.wal_bytes is not None else None
    return (
        *_engine_cells(one),
        StatementCell(_a_call(one.rows, one.calls), one.rows / one.calls if one.rows is not None else None),
        StatementCell(f"{_a_call(one.hits, one.calls)} + {_a_call(one.reads, one.calls)}", pages),
        StatementCell(size(wal) if wal is not None else _NONE, wal),
    )


def _engine_cells(one: StatementSeen) -> tuple[StatementCell, ...]:
    return (
        StatementCell(f"{one.calls:,.0f}", one.calls),
        StatementCell(_duration(one.mean_ms), one.mean_ms),
        StatementCell(_percentiles(one), one.p99_ms if one.p50_ms is not None else None),
    )


def _course(course: Course) -> StatementCell:
    """The server's mean execution time from sample to sample."""
    means = [mean_ms for _, mean_ms in course]
    words = f"{_duration(min(means))} to {_duration(max(means))}" if means else _NONE
    spark = spark_of(course, words)
    return StatementCell(words if spark is not None else _NONE, means[-1] if spark is not None else None, spark)


def _query_id(one: StatementSeen) -> StatementCell:
    return StatementCell(str(one.query_id) if one.query_id is not None else _NONE)


def _duration(ms: float) -> str:
    return f"{number(ms)} ms" if ms >= 0.1 else f"{number(ms * 1000)} µs"


def _percentiles(one: StatementSeen) -> str:
    return _NONE if one.p50_ms is None or one.p99_ms is None else f"{_duration(one.p50_ms)}, {_duration(one.p99_ms)}"


def _a_call(value: float | None, calls: float) -> str:
    return _NONE if value is None else number(value / calls)


def _waits(one: StatementSeen) -> StatementCell:
    """Most often first; how many sessions did so at a time, on average."""
    words = ", ".join(f"{wait.wait} {number(wait.backends)}" for wait in one.waits) or _NONE
    return StatementCell(words, sum(wait.backends for wait in one.waits) if one.waits else None)


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
