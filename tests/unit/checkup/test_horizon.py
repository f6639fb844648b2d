"""The forecast of a held horizon, held against figures that were worked out by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.checkups import SNAPSHOT
from fixtures.made_case import made
from pgclinic.checkup.case import Case
from pgclinic.checkup.horizon import hold_cost, hold_forecast
from pgclinic.checkup.lookup_cost import clean_buffers
from pgclinic.model.snapshot import StatementText, TableState
from pgclinic.model.snapshot_counters import Counters, StatementCounters, TableCounters

TABLE = made(
    TableState, oid=1, schema="public", name="counters", kind="r", persistence="p", owner="x", options=(), bytes=819200
)


def statement(calls: int, hits: int, total_ms: float) -> StatementCounters:
    counted = made(
        StatementCounters,
        query_id=7,
        user="app",
        is_top_level=True,
        calls=calls,
        rows=calls,
        hits=hits,
        total_ms=total_ms,
    )
    assert isinstance(counted, StatementCounters)
    return counted


def table(updated: int, dead: int, live: int = 100) -> TableCounters:
    counted = made(TableCounters, oid=1, updated=updated, dead=dead, live=live)
    assert isinstance(counted, TableCounters)
    return counted


def case(before: Counters | None, now: Counters, text: str = "update counters set v = v + $1 where id = $2") -> Case:
    texts = (StatementText(query_id=7, text=text),)
    return Case(replace(SNAPSHOT, counters=now, counters_before=before, tables=(TABLE,), statement_texts=texts))


#: A lookup visited 2 buffers in 0.1 ms; in the two seconds of the observation it visits 62 in 0.4 ms.
BEFORE = Counters(at_epoch_s=100.0, statements=(statement(1000, 2000, 100.0),), tables=(table(5000, 5000),))
NOW = Counters(at_epoch_s=102.0, statements=(statement(2000, 64_000, 500.0),), tables=(table(6000, 6000),))


def test_the_price_of_a_buffer_gives_what_was_lost_and_when_the_rest_halves() -> None:
    ill = case(BEFORE, NOW)
    found = hold_forecast(ill, ill.tables[0])
    assert found is not None
    assert (found.buffers, found.buffers_clean, found.versions_per_s) == (62.0, 2.0, 500.0)
    # 0.005 ms a buffer: a clean lookup takes 0.1 ms.
    assert found.slowdown == pytest.approx(4.0)
    # It takes 0.8 ms when 8,000 more versions are there; the rate falls from 500 to 250 a second meanwhile.
    assert found.halves_in_s == pytest.approx(24.0)
    cost = hold_cost(ill)
    assert cost is not None
    assert cost.value == 62.0
    assert {fact.name for fact in cost.basis} >= {"lookups are slower by", "throughput halves in"}


def test_without_an_observation_nothing_is_told_of_the_future() -> None:
    ill = case(None, NOW)
    found = hold_forecast(ill, ill.tables[0])
    assert found is not None
    assert (found.buffers, found.slowdown, found.versions_per_s, found.halves_in_s) == (32.0, None, None, None)


def test_lookups_that_visit_few_buffers_are_not_hurt() -> None:
    few = replace(NOW, statements=(statement(2000, 5000, 200.0),))
    assert hold_forecast(case(BEFORE, few), case(BEFORE, few).tables[0]) is None
    cost = hold_cost(case(BEFORE, few))
    assert cost is not None
    # 60 dead rows for each live one are all that is known.
    assert cost.value == 61.0


@pytest.mark.parametrize(
    "text",
    ["select count(*) from counters where id > $1", "update counters set v = $1", "select * from other where id = $1"],
)
def test_what_looks_up_no_single_row_says_nothing(text: str) -> None:
    ill = case(BEFORE, NOW, text)
    assert hold_forecast(ill, ill.tables[0]) is None


@pytest.mark.parametrize(("rows", "buffers"), [(0, 2), (100, 2), (360, 2), (100_000, 3), (40_000_000, 4)])
def test_a_clean_lookup_visits_each_level_and_a_page(rows: int, buffers: int) -> None:
    ill = case(None, replace(NOW, tables=(table(0, 0, rows),)))
    assert clean_buffers(ill.tables[0]) == buffers
