"""Which part of the time of statements a held horizon takes: what lookups need beyond what they would without its rows.

Where buffers and time of a lookup have grown since the reset, the price of a buffer is known, and with it the time of a
clean lookup. Else it is taken from lookups of the same kind in tables without dead rows; and else, as the most that it
can be, all buffers cost the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from pgclinic.checkup.case import Case
from pgclinic.checkup.horizon import BUFFERS_RATIO_MIN, hurt, price_of_a_buffer
from pgclinic.checkup.lookup_cost import clean_buffers
from pgclinic.checkup.lookups import ROWS_MAX, Lookups, all_lookups
from pgclinic.checkup.table_access import table_of
from pgclinic.checkup.time_shares import of_statements
from pgclinic.checkup.workload import Work, workload
from pgclinic.model.finding import TimeClaim
from pgclinic.model.snapshot import HorizonHolding
from pgclinic.sql.statement_kind import StatementKind, known_statement

#: A call that visits more times the buffers of a lookup does something else as well.
_CLEAN_MAX = 4.0
_CALLS_MIN = 20


def hold_claim(case: Case, hold: HorizonHolding, others: Iterable[HorizonHolding]) -> TimeClaim | None:
    """The claim of one hold beside all ``others`` that keep rows here; None where no lookup is seen to be hurt."""
    part = part_of_hold(hold, others)
    usual = _usual_ms(case)
    known: dict[int, list[tuple[float, float]]] = {}
    at_most = False
    for table in hurt(case):
        clean = clean_buffers(table)
        for lookup in all_lookups(case, table):
            if lookup.buffers >= BUFFERS_RATIO_MIN * clean:
                lost, is_known = _lost(lookup, clean, usual)
                at_most = at_most or not is_known
                known.setdefault(lookup.query_id, []).append((lookup.calls, lost))
    parts = {key: part * _mean(those) for key, those in known.items()}
    return of_statements(parts, at_most=at_most) if any(parts.values()) else None


def part_of_hold(hold: HorizonHolding, others: Iterable[HorizonHolding]) -> float:
    """The part of the dead rows that is its own: those that it keeps with others are shared among them.

    As rows die at about the same rate, those that two holds keep are as many as the age of the younger one. Ending one
    of them frees only what no other keeps, ending all of them everything.
    """
    holds = {id(one): one for one in (hold, *others)}.values()
    oldest_first = sorted(holds, key=lambda one: (-(one.xmin_age or 0), one.key))
    ages = [float(holding.xmin_age or 0) for holding in oldest_first]
    at = next(number for number, one in enumerate(oldest_first) if one is hold)
    if not ages[0]:
        return 1.0 / len(ages)
    bands = [older - younger for older, younger in zip(ages, [*ages[1:], 0.0], strict=True)]
    return sum(band / number for number, band in enumerate(bands, start=1) if number > at) / ages[0]


def _lost(one: Lookups, clean: float, usual: Mapping[StatementKind, float]) -> tuple[float, bool]:
    """The part of the time of a lookup that dead rows take, and whether it is known: else it is the most."""
    by_buffers = 1.0 - clean / one.buffers
    price = price_of_a_buffer(one)
    if price is not None and one.ms > 0:
        return min(1.0, price * (one.buffers - clean) / one.ms), True
    if one.kind in usual and one.ms > 0:
        return max(0.0, min(by_buffers, 1.0 - usual[one.kind] / one.ms)), True
    return by_buffers, False


def _usual_ms(case: Case) -> Mapping[StatementKind, float]:
    """What lookups in tables without dead rows take, by kind: the median of their statements."""
    ill = {table.state.oid for table in hurt(case)}
    found: dict[StatementKind, list[float]] = {}
    for work in workload(case):
        if _is_clean_lookup(case, work, ill):
            found.setdefault(known_statement(work.text).kind, []).append(work.mean_ms)
    return {kind: median(those) for kind, those in found.items()}


def _is_clean_lookup(case: Case, work: Work, ill: set[int]) -> bool:
    shape = work.shape
    if shape is None or work.calls < _CALLS_MIN or work.rows_per_call > ROWS_MAX or len(shape.mentions) != 1:
        return False
    table = table_of(case, shape.mentions[0])
    if table is None or table.state.oid in ill or not shape.returns_what_it_reads:
        return False
    return shape.top.has_conditions and work.buffers_per_call <= _CLEAN_MAX * clean_buffers(table)


def _mean(those: Iterable[tuple[float, float]]) -> float:
    found = tuple(those)
    return sum(weight * part for weight, part in found) / sum(weight for weight, _ in found)
