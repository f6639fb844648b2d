"""From cumulative samples to what happened in between: rates, series, and what grew most. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import pairwise

from pgclinic.model.record import Record
from pgclinic.model.sample import (
    Point,
    Row,
    Sample,
    Samples,
    Series,
    StatementGrowth,
    numbers,
)

_CLIENTS = frozenset({"client backend", "parallel worker"})


class Rate(str, Enum):
    """What can be said by the second. Bytes in bytes, the rest in numbers of what the name says."""

    COMMITS = "commits"
    ROLLBACKS = "rollbacks"
    BUFFER_HITS = "buffer_hits"
    BUFFER_READS = "buffer_reads"
    TEMP_BYTES = "temp_bytes"
    DEADLOCKS = "deadlocks"
    WAL_BYTES = "wal_bytes"
    FULL_PAGE_IMAGES = "full_page_images"
    WAL_BUFFERS_FULL = "wal_buffers_full"
    CHECKPOINTS = "checkpoints"
    CHECKPOINT_PAGES = "checkpoint_pages"
    VACUUMS = "vacuums"
    ANALYZES = "analyzes"
    SEQUENTIAL_SCANS = "sequential_scans"
    INDEX_SCANS = "index_scans"

    @property
    def view(self) -> str:
        return _COLUMNS[self][0]

    @property
    def columns(self) -> tuple[str, ...]:
        return _COLUMNS[self][1]


_COLUMNS: dict[Rate, tuple[str, tuple[str, ...]]] = {
    Rate.COMMITS: ("database", ("commits",)),
    Rate.ROLLBACKS: ("database", ("rollbacks",)),
    Rate.BUFFER_HITS: ("database", ("hits",)),
    Rate.BUFFER_READS: ("database", ("reads",)),
    Rate.TEMP_BYTES: ("database", ("temp_bytes",)),
    Rate.DEADLOCKS: ("database", ("deadlocks",)),
    # The position is there on every version, and is never late; pg_stat_wal is neither.
    Rate.WAL_BYTES: ("wal", ("position",)),
    Rate.FULL_PAGE_IMAGES: ("wal", ("full_page_images",)),
    Rate.WAL_BUFFERS_FULL: ("wal", ("buffers_full",)),
    Rate.CHECKPOINTS: ("checkpoints", ("timed", "requested")),
    Rate.CHECKPOINT_PAGES: ("checkpoints", ("checkpoint_pages",)),
    Rate.VACUUMS: ("relations", ("autovacuums",)),
    Rate.ANALYZES: ("relations", ("autoanalyzes",)),
    Rate.SEQUENTIAL_SCANS: ("relations", ("sequential_scans",)),
    Rate.INDEX_SCANS: ("relations", ("index_scans",)),
}

#: The least number of rows at which one of the queries ends.
CUT_OFF_ROWS = 500

#: Sums over all tables: they fall when one is dropped, and nothing was reset then.
_SUMS = frozenset({"relations"})


class Growth(Record):
    """By how much a counter grew between two samples that are ``seconds`` apart."""

    amount: float
    seconds: float


def increase(view: str, before: Row, after: Row, columns: tuple[str, ...]) -> float | None:
    """By how much counters grew; never negative. None when this server does not have them.

    After a reset or a crash the server counts from zero, and what it shows is all that happened since.
    """
    then, now = numbers(before, columns), numbers(after, columns)
    if then is None or now is None:
        return None
    if before.get("reset_s") != after.get("reset_s"):
        return now
    if now < then:
        return 0.0 if view in _SUMS else now
    return now - then


def happened(samples: Samples, rate: Rate, begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """When a counter was first seen to have grown between ``begin_s`` and ``end_s``, and by how much."""
    found = []
    for before, after in pairwise([sample for sample in samples.of(rate.view) if sample.rows]):
        amount = increase(rate.view, before.rows[0], after.rows[0], rate.columns)
        if amount and after.at_s > begin_s and before.at_s < end_s:
            found.append((after.at_s, amount))
    return found


def grown(samples: Iterable[Sample], rate: Rate) -> Growth | None:
    """The growth over consecutive samples of one stretch; None with fewer than two of them."""
    mine = [sample for sample in samples if sample.view == rate.view and sample.rows]
    steps = [increase(rate.view, one.rows[0], two.rows[0], rate.columns) for one, two in pairwise(mine)]
    known = [step for step in steps if step is not None]
    if not known or len(known) != len(steps):
        return None
    return Growth(amount=sum(known), seconds=mine[-1].at_s - mine[0].at_s)


def per_second(samples: Samples, rate: Rate) -> Series:
    """One point for each sample but the first: the rate since the sample before."""
    mine = [sample for sample in samples.of(rate.view) if sample.rows]
    points = []
    for before, after in pairwise(mine):
        amount = increase(rate.view, before.rows[0], after.rows[0], rate.columns)
        seconds = after.at_s - before.at_s
        if amount is not None and seconds > 0:
            points.append(Point(at_s=after.at_s, value=amount / seconds))
    return tuple(points)


def hits_per_transaction(before: Sample, after: Sample) -> float | None:
    """Shared buffer hits per commit between two samples of the database; None when nothing was committed.

    Hits and commits come from the same flush of each backend, so their ratio holds although both arrive late.
    """
    hits, commits = grown((before, after), Rate.BUFFER_HITS), grown((before, after), Rate.COMMITS)
    if hits is None or commits is None or commits.amount <= 0:
        return None
    return hits.amount / commits.amount


def miss_rate(before: Sample, after: Sample) -> float | None:
    """The share of page accesses that shared buffers did not serve, from 0 to 1; None when there were none."""
    hits, reads = grown((before, after), Rate.BUFFER_HITS), grown((before, after), Rate.BUFFER_READS)
    if hits is None or reads is None or hits.amount + reads.amount <= 0:
        return None
    return reads.amount / (hits.amount + reads.amount)


def backends_by_wait_event(samples: Samples) -> dict[str, Series]:
    """How many backends waited for what, by ``type:event``, with ``running`` for those that did not wait.

    Clients other than the load and idle sessions are left out; an idle transaction counts as ``idle in transaction``.
    """
    taken = samples.of("activity")
    counts = [waits_of(without_other_clients(sample.rows)) for sample in taken]
    names = sorted({name for count in counts for name in count})
    return {
        name: tuple(Point(at_s=one.at_s, value=count.get(name, 0.0)) for one, count in zip(taken, counts, strict=True))
        for name in names
    }


def without_other_clients(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of one sample of the activity without clients other than the load: the server may be somebody's.

    All stay where none is known to be the load's: under a name of the user's own.
    """
    own = tuple(rows)
    is_known = any(row.get("of_load") for row in own)
    return (row for row in own if not is_known or row.get("of_load") or row.get("backend_type") not in _CLIENTS)


def waits_of(rows: Iterable[Row]) -> dict[str, float]:
    """How many backends of these rows of the activity waited for what; idle sessions are left out."""
    counts: dict[str, float] = {}
    for row in rows:
        state, kind = row.get("state"), row.get("wait_event_type")
        if state == "idle":
            continue
        if isinstance(state, str) and state.startswith("idle in transaction"):
            name = "idle in transaction"
        else:
            name = f"{kind}:{row.get('wait_event')}" if kind else "running"
        counts[name] = counts.get(name, 0.0) + (numbers(row, ("backends",)) or 0.0)
    return counts


def horizon_age(samples: Samples) -> Series:
    """How many transactions the oldest holder holds the horizon back, 0 while nobody does."""
    return tuple(
        Point(at_s=sample.at_s, value=max((numbers(row, ("age_xids",)) or 0.0 for row in sample.rows), default=0.0))
        for sample in samples.of("horizon")
    )


def top_statements(samples: Samples, *, limit: int = 10) -> tuple[StatementGrowth, ...]:
    """The statements that took most time between the first and the last sample."""
    texts = {
        row.get("query_id"): str(row.get("query")) for sample in samples.of("statement_texts") for row in sample.rows
    }
    found = []
    for history in _histories(samples.of("statements"), ("query_id",)):
        query_id = history[-1].get("query_id")
        calls = _sum("statements", history, ("calls",))
        if not isinstance(query_id, int) or not calls:
            continue
        found.append(
            StatementGrowth(
                query_id=query_id,
                text=texts.get(query_id),
                calls=calls,
                total_ms=_sum("statements", history, ("total_ms",)) or 0.0,
                rows=_sum("statements", history, ("rows",)) or 0.0,
                hits=_sum("statements", history, ("hits",)) or 0.0,
                reads=_sum("statements", history, ("reads",)) or 0.0,
                wal_bytes=_sum("statements", history, ("wal_bytes",)),
            )
        )
    return tuple(sorted(found, key=lambda one: one.total_ms, reverse=True)[:limit])


def _histories(taken: tuple[Sample, ...], keys: tuple[str, ...]) -> Iterator[list[Row]]:
    """What was seen of each row over time. One that is not in the first sample began with nothing.

    Unless that sample was cut off: then it begins where it was first seen.
    """
    rows: dict[tuple[object, ...], list[Row]] = {}
    cut_off = bool(taken) and len(taken[0].rows) >= CUT_OFF_ROWS
    for number, sample in enumerate(taken):
        for row in sample.rows:
            key = tuple(row.get(name) for name in keys)
            if key not in rows:
                rows[key] = [] if number == 0 or cut_off else [{name: _zero(value) for name, value in row.items()}]
            rows[key].append(row)
    yield from rows.values()


def _zero(value: object) -> int | float | str | None:
    return 0 if isinstance(value, int | float) else None


def _sum(view: str, history: list[Row], columns: tuple[str, ...]) -> float | None:
    steps = [increase(view, before, after, columns) for before, after in pairwise(history)]
    known = [step for step in steps if step is not None]
    return sum(known) if len(known) == len(steps) else None
