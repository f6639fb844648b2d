"""How many dead rows are too many for a table, and what they take from it."""

from __future__ import annotations

from pgclinic.checkup.autovacuum_trigger import dead_rows_trigger
from pgclinic.checkup.case import Case, Table
from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, SubjectKind, Unit
from pgclinic.model.snapshot import HorizonHolding

#: Dead rows of 60 to 200 pages, which are read in less than a millisecond: fewer cost nothing that can be measured.
DEAD_MIN = 10_000
#: Of the live rows: twice what autovacuum leaves with the scale factor that it has out of the box.
DEAD_SHARE_MIN = 0.4


def rows_of(table: Table) -> float:
    """Live rows: the larger of what was counted and what the last VACUUM or ANALYZE found.

    Counting starts at 0 when statistics are reset or lost in a crash, and the rows are still there.
    """
    counted = table.counters.live if table.counters is not None else 0
    return float(max(counted, table.state.rows or 0.0, 0.0))


def carries_dead_rows(table: Table) -> bool:
    """Whether the dead rows of a table cost those who read it."""
    return table.dead >= DEAD_MIN and table.dead > DEAD_SHARE_MIN * rows_of(table)


def dead_rows_evidence(case: Case, table: Table, *facts: Fact) -> Evidence:
    """A table with its dead rows, and when they would have been removed."""
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="dead rows", value=table.dead, unit=Unit.ROWS),
            Fact(name="live rows", value=round(rows_of(table)), unit=Unit.ROWS),
            Fact(name="autovacuum starts above", value=round(dead_rows_trigger(case, table)), unit=Unit.ROWS),
            vacuumed_fact(case, table),
            *facts,
        ),
    )


def vacuumed_fact(case: Case, table: Table) -> Fact:
    """How long ago the table was vacuumed."""
    at = last_vacuum_epoch_s(table)
    if at is None:
        return Fact(name="last vacuum", value="none since statistics were reset")
    return Fact(name="time since the last vacuum", value=max(now_epoch_s(case) - at, 0.0), unit=Unit.SECONDS)


def last_vacuum_epoch_s(table: Table) -> float | None:
    """By anybody."""
    if table.counters is None:
        return None
    known = [table.counters.last_vacuum_epoch_s, table.counters.last_autovacuum_epoch_s]
    return max((at for at in known if at is not None), default=None)


def now_epoch_s(case: Case) -> float:
    """By the server's clock, when the state was read: after the observation."""
    return case.snapshot.server.clock_epoch_s + case.observed_s


def dead_space(table: Table) -> Cost | None:
    """The part of the table that its dead rows take."""
    if not table.state.bytes or not table.dead:
        return None
    share = table.dead / (table.dead + rows_of(table))
    return Cost(
        kind=CostKind.SPACE_BYTES,
        value=share * table.state.bytes,
        basis=(
            Fact(name="size of the table", value=table.state.bytes, unit=Unit.BYTES),
            Fact(name="share of dead rows", value=share, unit=Unit.SHARE),
        ),
    )


def holds_here(case: Case) -> tuple[HorizonHolding, ...]:
    """What keeps dead rows of this database's tables, the oldest first."""
    holds = [holding for holding in case.snapshot.horizon if holding.is_here and (holding.xmin_age or 0) > 0]
    return tuple(sorted(holds, key=lambda one: one.xmin_age or 0, reverse=True))
