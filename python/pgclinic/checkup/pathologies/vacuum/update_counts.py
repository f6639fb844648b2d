"""Updates of a table by where their new versions went, of the observation or since statistics were reset."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import rows_of

#: Fewer are a migration or a test: they say nothing about a load.
UPDATES_MIN = 10_000
#: As many of an observation of seconds are a load of hundreds a second.
UPDATES_OBSERVED_MIN = 1_000
#: One update of every row is a bulk update, and its pages were full before.
UPDATES_A_ROW_MIN = 2.0


@dataclass(frozen=True)
class UpdateCounts:
    """``elsewhere`` are those whose new version went to another page, None before 16, which does not count them."""

    updates: float
    hot: float
    elsewhere: float | None
    in_s: float

    @property
    def lost_on_page(self) -> float:
        """Updates that had room on the page and still were not HOT; before 16 all that were not."""
        return max(self.updates - self.hot - (self.elsewhere or 0.0), 0.0)


def update_counts(case: Case, table: Table) -> UpdateCounts | None:
    """None for too few updates to judge by."""
    counters = table.counters
    if counters is None or counters.updated < max(UPDATES_MIN, UPDATES_A_ROW_MIN * rows_of(table)):
        return None
    oid = table.state.oid
    observed = case.table_change(oid, "updated")
    if case.observed_s and observed >= UPDATES_OBSERVED_MIN:
        return UpdateCounts(
            updates=observed,
            hot=case.table_change(oid, "updated_hot"),
            elsewhere=None if counters.updated_elsewhere is None else case.table_change(oid, "updated_elsewhere"),
            in_s=case.observed_s,
        )
    return UpdateCounts(
        updates=counters.updated,
        hot=counters.updated_hot,
        elsewhere=counters.updated_elsewhere,
        in_s=case.database_s,
    )
