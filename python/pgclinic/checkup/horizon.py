"""What a held horizon hurts: tables whose dead rows stay, what a lookup in them costs now, and what it will cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.lookup_cost import clean_buffers
from pgclinic.checkup.lookups import Lookups, lookups_of
from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, SubjectKind, Unit
from pgclinic.stats.root_law import FittedLine, RootLaw

#: Fewer dead rows than these, and fewer than live ones, are what any table has between two vacuums.
DEAD_MIN = 1_000
_TABLES_NAMED = 5
#: A lookup that visits less than this many times the buffers of a clean one is not what dead rows make it.
BUFFERS_RATIO_MIN = 2.0


@dataclass(frozen=True)
class HoldForecast:
    """What dead versions cost the hottest lookups of a table.

    ``slowdown`` is how many times the time of a clean lookup one takes now; ``halves_in_s`` the time until throughput
    is half of what it is now if the load stays. Both are None where too little was seen.
    """

    buffers: float
    buffers_clean: float
    slowdown: float | None = None
    versions_per_s: float | None = None
    halves_in_s: float | None = None


def hurt_tables(case: Case) -> tuple[Evidence, ...]:
    """Tables with the most dead rows for each live one, with what lookups in them cost."""
    return tuple(_evidence(case, table) for table in hurt(case)[:_TABLES_NAMED])


def versions_per_row(table: Table) -> float:
    """How many versions a row has on average."""
    return 1.0 + table.dead / max(table.live, 1.0)


def hold_cost(case: Case) -> Cost | None:
    """Of the worst table: the buffers that a lookup visits; where no lookup was counted, the versions of a row."""
    ill = max(case.tables, key=versions_per_row, default=None)
    if ill is None or ill.dead < DEAD_MIN:
        return None
    forecast = hold_forecast(case, ill)
    return Cost(
        kind=CostKind.BUFFERS_PER_LOOKUP,
        value=forecast.buffers if forecast is not None else versions_per_row(ill),
        basis=(
            Fact(name="table", value=ill.name),
            Fact(name="dead rows", value=ill.dead, unit=Unit.ROWS),
            *_forecast_facts(forecast),
        ),
    )


def hold_forecast(case: Case, table: Table) -> HoldForecast | None:
    """By the counters of the statements that look up single rows of the table; None without such a statement.

    What a lookup visits is a + b N with N dead versions, and what it takes is a straight line of that: see
    ``stats.root_law``. The line is that through the mean since statistics were reset and the mean of the observation.
    """
    seen = lookups_of(case, table)
    if seen is None or not table.dead:
        return None
    clean = clean_buffers(table)
    if seen.buffers < BUFFERS_RATIO_MIN * clean:
        return None
    per_s = _versions_per_s(case, table)
    ms_per_buffer = price_of_a_buffer(seen)
    slowdown = halves_in_s = None
    if ms_per_buffer is not None and seen.ms > 0:
        ms_clean = seen.ms - ms_per_buffer * (seen.buffers - clean)
        slowdown = seen.ms / ms_clean if ms_clean > 0 else None
        per_version = ms_per_buffer * (seen.buffers - clean) / table.dead / seen.ms
        if per_s and per_version > 0:
            line = FittedLine(at_zero=seen.buffers, slope=(seen.buffers - clean) / table.dead, r_squared=1.0)
            law = RootLaw(hits=line, tps_at_start=per_s, tau_s=1.0 / (2.0 * per_version * per_s))
            halves_in_s = law.halved_after_s
    return HoldForecast(
        buffers=seen.buffers,
        buffers_clean=clean,
        slowdown=slowdown,
        versions_per_s=per_s,
        halves_in_s=halves_in_s,
    )


def hurt(case: Case) -> list[Table]:
    """Tables with many dead rows for each live one, the worst first."""
    ill = [table for table in case.tables if table.dead >= DEAD_MIN and table.dead > 0.2 * table.live]
    return sorted(ill, key=versions_per_row, reverse=True)


def _versions_per_s(case: Case, table: Table) -> float | None:
    """Every update and delete leaves a version behind as long as the horizon is held. None without an observation."""
    if not case.observed_s:
        return None
    oid = table.state.oid
    return (case.table_change(oid, "updated") + case.table_change(oid, "deleted")) / case.observed_s


def price_of_a_buffer(seen: Lookups) -> float | None:
    """The price of a buffer: the slope between what lookups took before and what they take now."""
    if seen.buffers_before is None or seen.ms_before is None:
        return None
    more = seen.buffers - seen.buffers_before
    # Between two means that are nearly the same a slope is noise.
    if more < 0.1 * seen.buffers or seen.ms <= seen.ms_before:
        return None
    return (seen.ms - seen.ms_before) / more


def _evidence(case: Case, table: Table) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="dead rows", value=table.dead, unit=Unit.ROWS),
            Fact(name="live rows", value=table.live, unit=Unit.ROWS),
            *_forecast_facts(hold_forecast(case, table)),
            *_space_facts(table),
        ),
    )


def _forecast_facts(forecast: HoldForecast | None) -> Iterator[Fact]:
    if forecast is None:
        return
    yield Fact(name="a lookup visits", value=round(forecast.buffers, 1), unit=Unit.BUFFERS)
    yield Fact(name="a lookup visits when the hold has ended", value=forecast.buffers_clean, unit=Unit.BUFFERS)
    if forecast.slowdown is not None:
        yield Fact(name="lookups are slower by", value=forecast.slowdown, unit=Unit.RATIO)
    if forecast.versions_per_s:
        yield Fact(name="dead rows added", value=forecast.versions_per_s, unit=Unit.PER_S)
    if forecast.halves_in_s is not None:
        yield Fact(name="throughput halves in", value=forecast.halves_in_s, unit=Unit.SECONDS)


def _space_facts(table: Table) -> Iterator[Fact]:
    """Pruning gives lookups back at once; pages are free for new rows after VACUUM, and the file stays as it is."""
    if table.state.bytes:
        share = table.dead / max(table.dead + table.live, 1.0)
        yield Fact(name="VACUUM then makes reusable", value=round(share * table.state.bytes), unit=Unit.BYTES)
