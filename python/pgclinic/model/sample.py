"""What the server's own views said while something ran: samples, and what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.record import Record

Value = int | float | str | None
Row = dict[str, Value]


class Sample(Record):
    """What one view showed at one moment, as cumulative as the server keeps it.

    ``at_s`` is the epoch second while a trial runs, and seconds since measuring began once samples are aligned. Columns
    that this server's version does not have are None.
    """

    at_s: float
    view: str
    rows: tuple[Row, ...]


class Samples(Record):
    """All samples of one run in the order in which they were taken, and what could not be had.

    ``gaps`` counts the moments at which a view was due and gave nothing in time. ``failed`` are the views without an
    answer when they were last asked, and why. ``cost_s`` is the CPU that taking the samples cost on our side,
    ``server_cost_s`` on the server's, None where it could not be read; both in seconds.
    """

    taken: tuple[Sample, ...] = ()
    gaps: int = 0
    failed: dict[str, str] = {}
    cost_s: float = 0.0
    server_cost_s: float | None = None

    def of(self, view: str) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.taken if sample.view == view)

    def since(self, epoch_s: float) -> Samples:
        """The same samples at seconds since ``epoch_s``."""
        moved = tuple(Sample(at_s=sample.at_s - epoch_s, view=sample.view, rows=sample.rows) for sample in self.taken)
        return Samples(
            taken=moved, gaps=self.gaps, failed=self.failed, cost_s=self.cost_s, server_cost_s=self.server_cost_s
        )


class Point(Record):
    """One value of a series: what held on average from the point before until ``at_s``, or what was seen then."""

    at_s: float
    value: float


Series = tuple[Point, ...]


class StatementGrowth(Record):
    """What one statement used between its first and its last sample. ``text`` is None where it was not asked for."""

    query_id: int
    text: str | None
    calls: float
    total_ms: float
    rows: float
    hits: float
    reads: float
    wal_bytes: float | None


def numbers(row: Row, columns: Sequence[str]) -> float | None:
    """The sum of these columns; None when one of them is not a number here."""
    total = 0.0
    for column in columns:
        value = row.get(column)
        if not isinstance(value, int | float):
            return None
        total += value
    return total
