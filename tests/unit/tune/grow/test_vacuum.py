"""What autovacuum has to do when a table has grown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.growth import TO, built_relations, shop_growth, shop_twin
from pgclinic.model.grow import VacuumGrowth
from pgclinic.model.twin import ObjectKind, SchemaObject, Twin
from pgclinic.tune.grow.relations import grown_relations
from pgclinic.tune.grow.vacuum import grown_vacuums
from pgclinic.twin.grown import growth_plan


def vacuum(twin: Twin) -> VacuumGrowth:
    relations = grown_relations(twin, built_relations(), TO, ())
    (found,) = grown_vacuums(twin, growth_plan(twin, TO), relations, TO)
    return found


def test_the_threshold_grows_with_the_table_and_so_do_the_dead_rows() -> None:
    found = vacuum(shop_twin())
    assert found.table == "public.orders"
    assert found.dead_rows_per_hour == 5000
    assert found.dead_rows_per_hour_at_to == 50_000
    assert found.threshold_rows == 50 + 0.2 * 60_000
    assert found.threshold_rows_at_to == 50 + 0.2 * 600_000
    assert found.interval_s == pytest.approx(12_050 / 5000 * 3600)
    assert found.interval_s_at_to == pytest.approx(120_050 / 50_000 * 3600)
    assert found.pages == 970
    assert found.pages_at_to == pytest.approx(9700)
    # 970 pages read at 2 each, and 800 of the table changed at 20 each; 2 ms of sleep for every 200.
    assert found.delay_s == pytest.approx((970 * 2 + 800 * 20) / 200 * 0.002)


def test_settings_of_the_server_and_of_the_table_count() -> None:
    settings = {
        "autovacuum_vacuum_scale_factor": "0.1",
        "autovacuum_vacuum_cost_delay": "20ms",
        "autovacuum_naptime": "5min",
    }
    assert vacuum(replace(shop_twin(), settings=settings)).threshold_rows == 50 + 0.1 * 60_000
    made = SchemaObject(
        kind=ObjectKind.TABLE,
        name="public.orders",
        statement="create table public.orders (order_id int) with (autovacuum_vacuum_scale_factor='0.01')",
    )
    own = replace(shop_twin(), settings=settings, objects=(made,))
    assert vacuum(own).threshold_rows == 50 + 0.01 * 60_000
    assert vacuum(own).delay_s == pytest.approx((970 * 2 + 650 * 20) / 200 * 0.02)


def test_autovacuum_looks_once_in_its_naptime() -> None:
    twin = shop_twin()
    often = replace(twin, workload=replace(twin.workload, since_s=1.0))
    assert vacuum(often).interval_s == 60.0


def test_from_18_on_no_table_waits_for_more_than_a_limit() -> None:
    settings = {"autovacuum_vacuum_max_threshold": "1000"}
    assert vacuum(replace(shop_twin(), settings=settings)).threshold_rows_at_to == 1000
    older = replace(shop_twin(), settings=settings, version_num=170000)
    assert vacuum(older).threshold_rows_at_to == 120_050


def test_counters_without_a_time_have_no_rate() -> None:
    twin = shop_twin()
    unknown = vacuum(replace(twin, workload=replace(twin.workload, since_s=None)))
    assert unknown.dead_rows_per_hour is None
    assert unknown.interval_s is None
    assert unknown.threshold_rows_at_to == 120_050


def test_how_busy_it_is() -> None:
    found = shop_growth()
    assert found.vacuum_busy is not None
    now, then = found.vacuum_busy
    (one,) = found.vacuums
    assert one.interval_s is not None
    assert now == pytest.approx(one.delay_s / one.interval_s)
    assert then > 5 * now
