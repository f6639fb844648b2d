"""What the time of one trial went into, and how far to trust it: rows of a label and its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.model.activity import TrialActivity, WorkKind
from pgclinic.model.trial import TrialRecord
from pgclinic.report.parts.rows import row_lines
from pgclinic.report.parts.table import PageTable
from pgclinic.report.sections.answer.text import doubt_rows
from pgclinic.report.sections.server.view import missing_words
from pgclinic.report.sections.waits.two_arms import WORK_TITLES, duration, work_amount
from pgclinic.report.words.cost import observers_words, server_words
from pgclinic.report.words.figures import count, percent
from pgclinic.samples.machine_cost import cost_of
from pgclinic.samples.trial_activity import IDLE

#: Shares of the sessions' time below this are left out of the line; the page's table has all of them.
WAITS_FROM = 0.02
STATEMENTS_SHOWN = 3
_TEXT_MAX = 60
LABEL_WIDTH = 12
#: What sessions do that wait for nothing in the server.
_NO_WAITS = ("running", IDLE, "idle in transaction")

#: The order in which the work of a transaction is listed.
_WORK = (
    WorkKind.CPU,
    WorkKind.BUFFERS,
    WorkKind.BUFFER_READS,
    WorkKind.WAL,
    WorkKind.FULL_PAGE_IMAGES,
    WorkKind.TEMPORARY_FILES,
    WorkKind.SEQUENTIAL_SCANS,
)


def why_rows(activity: TrialActivity) -> Iterator[tuple[str, str]]:
    """One row each for sessions, work, and statements; those of which nothing is known are left out."""
    for words in (_sessions(activity), _work(activity), _statements(activity)):
        if words:
            yield "why", words


def trust_rows(trial: TrialRecord) -> Iterator[tuple[str, str]]:
    """Doubts with their advice, and what observing cost."""
    doubts = "no doubts" if not trial.doubts else count(len(trial.doubts), "doubt")
    cost = cost_of((trial,))
    parts = [doubts] if cost is None else [server_words(cost), f"observers {observers_words(cost)}", doubts]
    yield "trust", "; ".join(parts)
    yield from doubt_rows(trial.doubts)


def missing_rows(trial: TrialRecord) -> Iterator[tuple[str, str]]:
    """What could not be seen, and why."""
    for words in missing_words(trial.samples):
        yield "missing", words
    if trial.events.problem is not None:
        yield "missing", f"Events of the server's log; {trial.events.problem}."


def labelled_lines(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """The rows as the verdict of a study has them: a label, and its content below its own beginning."""
    return [line for label, content in rows for line in row_lines(label, content, width, LABEL_WIDTH)]


def why_tables(activity: TrialActivity) -> tuple[PageTable, ...]:
    """The same in full for the page."""
    waits = tuple((wait_words(name), percent(share)) for name, share in activity.waits.items())
    work = tuple(
        (WORK_TITLES[kind], work_amount(kind, activity.work[kind])) for kind in _WORK if activity.work.get(kind)
    )
    statements = tuple(
        (statement.text, duration(statement.us), percent(statement.share)) for statement in activity.statements
    )
    tables = (
        ("What the sessions' time went into", ("Sessions", "Share of their time"), waits),
        ("What the server did for a transaction", ("Per transaction", "Amount"), work),
        (
            "The statements that took most time, as clients waited",
            ("Statement", "Per transaction", "Share of a session's time"),
            statements,
        ),
    )
    return tuple(PageTable(caption=caption, heads=heads, rows=rows) for caption, heads, rows in tables if rows)


def _sessions(activity: TrialActivity) -> str:
    shown = [(name, share) for name, share in activity.waits.items() if share >= WAITS_FROM]
    if not shown:
        return ""
    parts = [f"{wait_words(name)} {percent(share)}" for name, share in shown]
    return f"{count(activity.sessions, 'session')}: {', '.join(parts)} ({count(activity.samples, 'sample')})"


def wait_words(name: str) -> str:
    """What a session does in that state, or what it waits for."""
    return name if name in _NO_WAITS else f"waiting for {name}"


def _work(activity: TrialActivity) -> str:
    parts = [_work_words(kind, activity.work[kind]) for kind in _WORK if activity.work.get(kind)]
    found = ((activity.checkpoints, "checkpoint"), (activity.autovacuums, "autovacuum run"))
    events = [count(times, noun) for times, noun in found if times]
    words = [f"per transaction: {', '.join(parts)}"] if parts else []
    words += [f"meanwhile {' and '.join(events)}"] if events else []
    return "; ".join(words)


def _work_words(work: WorkKind, amount: float) -> str:
    return f"{WORK_TITLES[work]} {work_amount(work, amount)}"


def _statements(activity: TrialActivity) -> str:
    shown = activity.statements[:STATEMENTS_SHOWN]
    if not shown:
        return ""
    whole = duration(activity.session_us)
    parts = [f"{duration(statement.us)} {_short(statement.text)}" for statement in shown]
    return f"of {whole} for each transaction: {'; '.join(parts)}"


def top_statement(activity: TrialActivity) -> str | None:
    """The statement that took most of a transaction's time, with both times; None where no statement was timed."""
    if not activity.statements:
        return None
    first = activity.statements[0]
    return f"{duration(first.us)} of {duration(activity.session_us)} for each transaction: {_short(first.text)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_MAX else f"{line[: _TEXT_MAX - 1]}…"
