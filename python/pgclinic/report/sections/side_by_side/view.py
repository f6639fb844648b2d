"""Two arms beside each other: what was measured of both, and what their servers did."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.parts.table import PageTable
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.side_by_side.text import table_caption, table_heads, table_rows
from pgclinic.report.sections.waits.two_arms import StatementTimes, activity_tables, statement_times


@dataclass(frozen=True)
class SideBySide:
    tables: tuple[PageTable, ...]
    statements: tuple[StatementTimes, ...]

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The statements as cells of words."""
        return tuple((" ".join(one.text.split()), *one.words, one.difference) for one in self.statements)


def side_by_side(one: ReportedStudy) -> SideBySide | None:
    """None where nothing could be compared."""
    comparison = one.comparison
    rows = table_rows(comparison) if comparison is not None else ()
    if comparison is None or not rows:
        return None
    measured = PageTable(table_caption(comparison), table_heads(comparison), rows)
    return SideBySide((measured, *activity_tables(comparison.activity)), statement_times(comparison.activity))
