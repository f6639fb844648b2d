"""What statements that look up single rows of a table take: now, and over the time before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Statement, Table, words_of
from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.sql.statement_kind import StatementKind, known_statement

#: One row a call, with some that find none and some that find two.
ROWS_MAX = 1.5
#: They give one row and read many.
_AGGREGATES = frozenset(("count", "sum", "avg", "min", "max"))
_KINDS = frozenset((StatementKind.SELECT, StatementKind.UPDATE, StatementKind.DELETE))


@dataclass(frozen=True)
class Lookups:
    """One kind of lookup: buffers and ms per call of the observation, and before that since the reset.

    Without an observation, or without a call in it, all calls are those of now. ``calls`` are those of now.
    """

    query_id: int
    kind: StatementKind
    calls: float
    buffers: float
    ms: float
    buffers_before: float | None = None
    ms_before: float | None = None


def lookups_of(case: Case, table: Table) -> Lookups | None:
    """The one that is called most; None where no statement looks up single rows of this table alone."""
    found = all_lookups(case, table)
    seen = [lookups for lookups in found if lookups.buffers_before is not None] or found
    return max(seen, key=lambda one: one.calls, default=None)


def all_lookups(case: Case, table: Table) -> tuple[Lookups, ...]:
    """Of all statements, by role, that look up single rows of this table alone."""
    before = case.snapshot.counters_before
    earlier = {
        (statement.query_id, statement.user, statement.is_top_level): statement
        for statement in (before.statements if before else ())
    }
    return tuple(_lookups(candidate, earlier) for candidate in _candidates(case, table))


def _lookups(one: Statement, earlier: Mapping[tuple[int, str, bool], StatementCounters]) -> Lookups:
    counters, kind = one.counters, known_statement(one.text).kind
    calls, blocks, ms = _since(counters, earlier)
    then = earlier.get((counters.query_id, counters.user, counters.is_top_level))
    if then is None or not calls or not then.calls:
        whole = float(counters.calls)
        buffers = (counters.hits + counters.reads) / whole
        return Lookups(counters.query_id, kind, whole, buffers, counters.total_ms / whole)
    return Lookups(
        query_id=counters.query_id,
        kind=kind,
        calls=calls,
        buffers=blocks / calls,
        ms=ms / calls,
        buffers_before=(then.hits + then.reads) / then.calls,
        ms_before=then.total_ms / then.calls,
    )


def _candidates(case: Case, table: Table) -> Iterator[Statement]:
    others = {one.state.name.lower() for one in case.tables} - {table.state.name.lower()}
    for statement in case.statements_on(table):
        known, words = known_statement(statement.text), words_of(statement.text)
        if known.kind not in _KINDS or not statement.counters.calls or words & others:
            continue
        if (
            "where" in words
            and not words & _AGGREGATES
            and statement.counters.rows <= ROWS_MAX * statement.counters.calls
        ):
            yield statement


def _since(
    now: StatementCounters, earlier: Mapping[tuple[int, str, bool], StatementCounters]
) -> tuple[float, float, float]:
    """Calls, blocks and ms since the observation began; zeros for what was not called."""
    then = earlier.get((now.query_id, now.user, now.is_top_level))
    if then is None or then.calls > now.calls:
        return 0.0, 0.0, 0.0
    return (
        float(now.calls - then.calls),
        float(now.hits + now.reads - then.hits - then.reads),
        now.total_ms - then.total_ms,
    )
