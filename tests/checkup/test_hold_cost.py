"""What a held horizon costs: lookups measured by the server's own counters, while they become more expensive."""

from __future__ import annotations

from fixtures.patient import patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.horizon import hold_cost, hold_forecast, hurt_tables
from pgclinic.model.finding import CostKind, Unit

HOT_ROWS = (
    "create table counters (id int primary key, v int not null) with (autovacuum_enabled = off)",
    "insert into counters select n, 0 from generate_series(1, 100) n",
)
UPDATE = "\\set id random(1, 100)\nupdate counters set v = v + 1 where id = :id;\n"


def test_lookups_under_a_hold_are_measured_and_their_future_is_told() -> None:
    with patient("18", {"synchronous_commit": "off"}) as sick:
        sick.sql(*HOT_ROWS)
        sick.session("begin isolation level repeatable read", "select count(*) from counters", name="report")
        sick.load(UPDATE, clients=2)
        sick.until("select n_dead_tup > 5000 from pg_stat_user_tables where relname = 'counters'")
        case = Case(take_snapshot(sick.access, observe_s=2.0))
        table = next(one for one in case.tables if one.name == "public.counters")
        forecast = hold_forecast(case, table)
        assert forecast is not None
        # A lookup of a clean table visits the root of the index and one page.
        assert forecast.buffers_clean == 2.0
        assert forecast.buffers > 10 * forecast.buffers_clean
        assert forecast.versions_per_s is not None
        assert forecast.versions_per_s > 10
        cost = hold_cost(case)
        assert cost is not None
        assert (cost.kind, cost.value) == (CostKind.BUFFERS_PER_LOOKUP, forecast.buffers)
        (hurt,) = hurt_tables(case)
        assert hurt.name == "public.counters"
        facts = {fact.name: fact for fact in hurt.facts}
        assert facts["a lookup visits"].unit is Unit.BUFFERS
        assert facts["a lookup visits when the hold has ended"].value == 2.0
        assert facts["VACUUM then makes reusable"].unit is Unit.BYTES


def test_a_clean_table_has_no_cost() -> None:
    with patient("18", {}) as well:
        well.sql(*HOT_ROWS)
        well.sql(*["update counters set v = v + 1 where id = 1"] * 20)
        case = Case(take_snapshot(well.access))
        assert hold_cost(case) is None
        assert hurt_tables(case) == ()
