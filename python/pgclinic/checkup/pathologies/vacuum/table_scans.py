"""Statements that read a whole table: those that pay for what is not needed in it."""

from __future__ import annotations

from pgclinic.checkup.case import Case, Statement, Table
from pgclinic.model.finding import TimeClaim

#: A call that visits fewer of the table's pages found its rows by an index.
_PAGES_SHARE = 0.5
#: A table so small is read in no time.
_PAGES_MIN = 100


def scanning_statements(case: Case, table: Table) -> tuple[Statement, ...]:
    """Statements on the table whose calls visit most of its pages. A hint: texts are not resolved."""
    pages = (table.state.bytes or 0) / case.snapshot.server.block_bytes
    if pages < _PAGES_MIN:
        return ()
    return tuple(
        one
        for one in case.statements_on(table)
        if one.counters.calls
        and (one.counters.hits + one.counters.reads) / one.counters.calls >= _PAGES_SHARE * pages
        and one.text.lstrip().lower().startswith(("select", "update", "delete", "with", "merge"))
    )


def scan_claim(case: Case, table: Table, fraction: float) -> TimeClaim | None:
    """The time of those statements, as far as ``fraction`` of the table's pages need not be there."""
    found = scanning_statements(case, table)
    if not found or fraction <= 0:
        return None
    return TimeClaim(query_ids=tuple(sorted({statement.query_id for statement in found})), fraction=min(fraction, 1.0))
