"""Which of the server's views are sampled, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from pgclinic.errors import UnknownNameError
from pgclinic.model.sample import Row, numbers
from pgclinic.pg.query_files import query

EVERY_TIME = 0.0
SELDOM_S = 5.0
# A trial of seconds has too few looks at its waits otherwise.
WAITS_EVERY_S = 0.25
# A view of thousands of rows would fill a run's folder; the first and the last sample have all of them.
TOP_ROWS = 20


@dataclass(frozen=True)
class Top:
    """Rows are told apart by ``keys``; the busiest are those in which the sum of ``columns`` moved most."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int = TOP_ROWS


@dataclass(frozen=True)
class View:
    """One view: its SQL by the server's major version, and every how many seconds it is asked.

    ``top`` keeps only the rows that changed most since the time before. ``at_end`` asks it once, at the end. One whose
    cost ``grows`` with the number of tables or statements is asked less often where it takes long.
    """

    name: str
    sql: Callable[[int], str]
    every_s: float = EVERY_TIME
    top: Top | None = None
    at_end: bool = False
    grows: bool = False


TABLE_CHANGES = ("inserted", "updated", "deleted", "sequential_scans", "vacuums", "autovacuums", "hits", "reads")

DEFAULT_VIEWS: tuple[View, ...] = (
    View("database", lambda major: query("sample_database", major)),
    View("checkpoints", lambda major: query("sample_checkpoints", major)),
    View("wal", lambda major: query("sample_wal", major)),
    View("activity", lambda major: query("sample_activity", major)),
    View("horizon", lambda major: query("sample_horizon", major)),
    View("relations", lambda major: query("sample_relations", major), grows=True),
    View("locks", lambda major: query("sample_locks", major)),
    View("io", lambda major: query("sample_io", major), SELDOM_S),
    View("slru", lambda major: query("sample_slru", major), SELDOM_S),
    View("progress", lambda major: query("sample_progress", major), SELDOM_S),
    View(
        "statements",
        lambda major: query("sample_statements", major),
        SELDOM_S,
        top=Top(keys=("query_id",), columns=("total_ms",)),
        grows=True,
    ),
    View(
        "tables",
        lambda major: query("sample_tables", major),
        SELDOM_S,
        top=Top(keys=("schema", "table"), columns=TABLE_CHANGES),
        grows=True,
    ),
    View(
        "indexes",
        lambda major: query("sample_indexes", major),
        SELDOM_S,
        top=Top(keys=("schema", "table", "index"), columns=("scans", "hits", "reads")),
        grows=True,
    ),
    View("statement_texts", lambda major: query("sample_statement_texts", major), at_end=True),
)

#: Views that the extension pg_stat_statements brings along.
OF_STATEMENTS = frozenset({"statements", "statement_texts"})


def views_for_waits() -> tuple[View, ...]:
    """The default views for a sampler that ticks every ``WAITS_EVERY_S``: only the activity is asked each time."""
    return views_at({view.name: 1.0 for view in DEFAULT_VIEWS if view.every_s < 1.0 and view.name != "activity"})


def views_at(every_s: Mapping[str, float]) -> tuple[View, ...]:
    """The default views, those named at a rate of their own. Raises UnknownNameError."""
    known = {view.name for view in DEFAULT_VIEWS}
    for name in every_s:
        if name not in known:
            raise UnknownNameError("view", name, known)
    return tuple(replace(view, every_s=every_s.get(view.name, view.every_s)) for view in DEFAULT_VIEWS)


def busiest(rows: Iterable[Row], before: Mapping[tuple[object, ...], Row], top: Top) -> tuple[Row, ...]:
    """The rows that changed most since ``before``, the most changed first; unchanged ones are never among them."""
    moved = []
    for row in rows:
        then = before.get(key_of(row, top))
        change = (numbers(row, top.columns) or 0.0) - ((numbers(then, top.columns) or 0.0) if then else 0.0)
        if change != 0:
            moved.append((abs(change), row))
    moved.sort(key=lambda pair: pair[0], reverse=True)
    return tuple(row for _, row in moved[: top.rows])


def key_of(row: Row, top: Top) -> tuple[object, ...]:
    return tuple(row.get(key) for key in top.keys)
