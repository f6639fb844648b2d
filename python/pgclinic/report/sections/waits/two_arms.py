"""What the servers of two arms did, in words: the causes in a line, and the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgclinic.model.activity import Activity, Cause, StatementCompared, WaitCompared, WorkCompared, WorkKind
from pgclinic.report.parts.columns import in_columns
from pgclinic.report.parts.table import PageTable
from pgclinic.report.words.figures import number, size
from pgclinic.samples.plan_nodes import only_in

CAUSES_SHOWN = 3
WAITS_SHOWN = 6
STATEMENTS_SHOWN = 5
STATEMENTS_ON_PAGE = 20
#: Sessions on average; what waits more rarely is not worth a row.
WAITS_FROM = 0.02
_NODES_SHOWN = 2
_NAME_MIN = 24
_PLAN = "  its plan"
_NONE = "none"
HEADS = ("Per transaction", "a", "b")
WAIT_HEADS = ("Sessions waiting for", "a", "b")
STATEMENT_HEADS = ("Statement, time per transaction", "a", "b")

#: What is compared, and how an amount of it is worded.
WORK_TITLES: dict[WorkKind, str] = {
    WorkKind.TEMPORARY_FILES: "temporary files",
    WorkKind.BUFFER_READS: "buffers read",
    WorkKind.WAL: "WAL",
    WorkKind.FULL_PAGE_IMAGES: "full-page images",
    WorkKind.BUFFERS: "buffers visited",
    WorkKind.SEQUENTIAL_SCANS: "sequential scans",
    WorkKind.CPU: "server CPU",
}
_SIZES = (WorkKind.TEMPORARY_FILES, WorkKind.WAL)

#: A name, and what it is in a and in b.
Row = tuple[str, ...]


@dataclass(frozen=True)
class ActivityRows:
    """Rows of a name, a's and b's; the plans of a statement stand below it."""

    work: tuple[Row, ...]
    waits: tuple[Row, ...]
    statements: tuple[Row, ...]


def why_words(causes: Sequence[Cause], names: tuple[str, str] = ("a", "b")) -> str | None:
    """The causes that matter most in one line; None without any. ``names`` are those of both arms."""
    return "; ".join(cause_lines(causes, names)) or None


def cause_lines(causes: Sequence[Cause], names: tuple[str, str] = ("a", "b")) -> tuple[str, ...]:
    """The same, one beside the other."""
    return tuple(_cause(cause, names) for cause in causes[:CAUSES_SHOWN])


def _cause(cause: Cause, names: tuple[str, str]) -> str:
    if cause.plan is not None:
        return _plan_change(cause.plan, names)
    if cause.wait is not None:
        return _against(f"sessions waiting for {cause.wait.wait}", cause.wait.a, cause.wait.b, number, names)
    assert cause.work is not None
    one = cause.work
    if one.work is WorkKind.TEMPORARY_FILES:
        return _against(WORK_TITLES[one.work], one.a_per_s, one.b_per_s, lambda value: f"{size(value)}/s", names)
    return _against(
        f"{WORK_TITLES[one.work]} per transaction", one.a, one.b, lambda value: work_amount(one.work, value), names
    )


def _plan_change(statement: StatementCompared, names: tuple[str, str]) -> str:
    """plans differ: Seq Scan on orders (a) -> Index Scan using orders_pkey on orders (b)."""
    a, b = only_in(statement.a_plan, statement.b_plan), only_in(statement.b_plan, statement.a_plan)
    return f"plans differ: {_nodes(a)} ({names[0]}) -> {_nodes(b)} ({names[1]})"


def _nodes(nodes: Sequence[str]) -> str:
    """The lowest nodes read the tables: they say most."""
    shown = list(nodes[-_NODES_SHOWN:]) or ["without it"]
    return ", ".join(shown)


def _against(what: str, a: float, b: float, worded: Callable[[float], str], names: tuple[str, str]) -> str:
    amounts = (worded(a) if a else _NONE, worded(b) if b else _NONE)
    return f"{what}: {amounts[0]} ({names[0]}) against {amounts[1]} ({names[1]})"


def work_amount(work: WorkKind, value: float) -> str:
    if work in _SIZES:
        return size(value)
    return duration(value) if work is WorkKind.CPU else number(value)


def duration(us: float) -> str:
    """912 µs, 1.2 ms."""
    if us >= 1e6:
        return f"{number(us / 1e6)} s"
    return f"{number(us / 1000)} ms" if us >= 1000 else f"{number(us)} µs"


def activity_rows(activity: Activity) -> ActivityRows:
    waits = [wait for wait in activity.waits if max(wait.a, wait.b) >= WAITS_FROM][:WAITS_SHOWN]
    statements = activity.statements[:STATEMENTS_SHOWN]
    return ActivityRows(
        work=tuple(_work_row(compared) for compared in activity.work if compared.a or compared.b),
        waits=tuple(_wait_row(wait, activity) for wait in waits),
        statements=tuple(row for statement in statements for row in _statement_rows(statement)),
    )


@dataclass(frozen=True)
class StatementTimes:
    """One statement in both arms: its whole text, and the time of each arm in µs; None where an arm does not run it.

    ``is_clear`` says whether they differ.
    """

    text: str
    a_us: float | None
    b_us: float | None
    is_clear: bool

    @property
    def words(self) -> tuple[str, str]:
        """Of both times."""
        return _time_words(self.a_us), _time_words(self.b_us)

    @property
    def difference(self) -> str:
        return "clear" if self.is_clear else "not clear"


def _time_words(us: float | None) -> str:
    return duration(us) if us is not None else "-"


def statement_times(activity: Activity | None) -> tuple[StatementTimes, ...]:
    """For the page: those with the highest total time; none without a block."""
    found = activity.statements if activity is not None else ()
    return tuple(StatementTimes(one.text, one.a_us, one.b_us, one.clear) for one in found[:STATEMENTS_ON_PAGE])


def activity_tables(activity: Activity | None) -> tuple[PageTable, ...]:
    """Work and waits for the page; none without a block."""
    if activity is None:
        return ()
    rows = activity_rows(activity)
    parts = (
        ("Work of the servers per transaction, means over the blocks", HEADS, rows.work),
        ("Waits of the load's sessions, mean number of sessions waiting", WAIT_HEADS, rows.waits),
    )
    return tuple(PageTable(caption=caption, heads=heads, rows=own) for caption, heads, own in parts if own)


def activity_lines(activity: Activity, width: int) -> list[str]:
    """The tables for a terminal, an empty line behind each; long statements and plans are cut."""
    rows = activity_rows(activity)
    lines = []
    for heads, own in ((HEADS, rows.work), (WAIT_HEADS, rows.waits), (STATEMENT_HEADS, rows.statements)):
        if own:
            lines += [*_fitted([heads, *(line for row in own for line in _plans_below(row))], width), ""]
    return lines


def _plans_below(row: Row) -> list[Row]:
    """Plans are too long for cells side by side: a line each."""
    name, a, b = row
    if name != _PLAN:
        return [row]
    return [(f"  plan: {a}", "", "")] if a == b else [(f"  plan of a: {a}", "", ""), (f"  plan of b: {b}", "", "")]


def _fitted(rows: Sequence[Row], width: int) -> list[str]:
    """The first column gets what the figures leave; a plan may reach below them."""
    figures = sum(max(len(row[column]) for row in rows) for column in (1, 2))
    names = max(_NAME_MIN, width - figures - 8)
    short = [(_cut(name, names), a, b) for name, a, b in rows if a or b]
    lines = iter(in_columns(short))
    return [next(lines) if a or b else f"  {_cut(name, width - 2)}" for name, a, b in rows]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _work_row(one: WorkCompared) -> Row:
    title = WORK_TITLES[one.work]
    if one.work is WorkKind.TEMPORARY_FILES:
        return (title, *(f"{size(amount)}, {size(by_s)}/s" if amount else _NONE for amount, by_s in _sides(one)))
    return (title, *(work_amount(one.work, amount) if amount else _NONE for amount, _ in _sides(one)))


def _sides(one: WorkCompared) -> tuple[tuple[float, float], tuple[float, float]]:
    return (one.a, one.a_per_s), (one.b, one.b_per_s)


def _wait_row(one: WaitCompared, activity: Activity) -> Row:
    name = "nothing (running)" if one.wait == "running" else one.wait
    sides = ((one.a, activity.a_sessions), (one.b, activity.b_sessions))
    return (name, *(f"{number(value)} of {of}" if value else _NONE for value, of in sides))


def _statement_rows(one: StatementCompared) -> list[Row]:
    rows: list[Row] = [(one.text, _time_words(one.a_us), _time_words(one.b_us))]
    if one.plans_differ:
        a, b = only_in(one.a_plan, one.b_plan), only_in(one.b_plan, one.a_plan)
        rows.append((_PLAN, _nodes(a), _nodes(b)))
    elif one.a_plan or one.b_plan:
        rows.append((_PLAN, *(_nodes(plan) if plan else "-" for plan in (one.a_plan, one.b_plan))))
    return rows
