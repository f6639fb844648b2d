"""What grows in a twin, and the statistics that it has then: more keys, each with as many rows as before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.growth import column, numbers, shop_tables, shop_twin
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.grow import KeptBecause
from pgclinic.model.twin import Twin, TwinKey, TwinStatement, TwinTable, TwinWorkload
from pgclinic.sql.statement_places import Place, PlaceUse, TypedStatement
from pgclinic.twin.choice import Choice
from pgclinic.twin.grown import grown, grown_choice, growth_plan, table_rows
from pgclinic.twin.parameters import RunnableStatement
from pgclinic.twin.synthesise import synthesise


def reasons(twin: Twin, *fixed: str, factor: float = 10.0) -> dict[str, KeptBecause]:
    return {one.table: one.because for one in growth_plan(twin, factor, fixed).kept}


def with_tables(*tables: TwinTable) -> Twin:
    return replace(shop_twin(), tables=tables)


def with_inserts(text: str) -> Twin:
    workload = TwinWorkload(
        statements=(TwinStatement(query_id=9, text=text, calls=9, rows=9, total_ms=1.0, kind="insert"),)
    )
    return replace(shop_twin(), workload=workload)


def test_a_small_table_that_others_refer_to_keeps_its_rows() -> None:
    plan = growth_plan(shop_twin(), 10.0)
    assert reasons(shop_twin()) == {"public.country": KeptBecause.REFERENCE}
    assert plan.growing == {"public.customer", "public.orders"}
    assert plan.keys == {
        ("public.customer", "customer_id"),
        ("public.orders", "order_id"),
        ("public.orders", "customer_id"),
    }


def test_a_small_table_that_the_workload_inserts_into_grows() -> None:
    assert reasons(with_inserts("insert into country values ($1)")) == {}


def test_a_small_table_that_refers_to_one_that_grows_does_so_too() -> None:
    country, customer, orders = shop_tables()
    few = replace(orders, name="public.few", rows=50.0, pages=1, pages_now=1)
    assert reasons(with_tables(country, customer, few)) == {"public.country": KeptBecause.REFERENCE}


def test_a_small_table_grows_if_it_is_named() -> None:
    plan = growth_plan(shop_twin(), 10.0, growing=("country",))
    assert plan.kept == ()
    assert "public.country" in plan.growing
    with pytest.raises(UnknownNameError, match="contry"):
        growth_plan(shop_twin(), 10.0, growing=("contry",))
    with pytest.raises(UsageError, match=r"public\.country can be either"):
        growth_plan(shop_twin(), 10.0, ("public.country",), ("country",))


def test_a_table_is_named_with_or_without_its_schema() -> None:
    for name in ("customer", "public.customer"):
        assert reasons(shop_twin(), name)["public.customer"] is KeptBecause.ASKED
    with pytest.raises(UnknownNameError) as caught:
        growth_plan(shop_twin(), 10.0, ["custommer"])
    assert caught.value.nearest == "customer"
    with pytest.raises(UsageError, match="no table of shop grows"):
        growth_plan(shop_twin(), 10.0, ["customer", "orders"])


def test_a_key_without_room_for_more_numbers_keeps_its_table() -> None:
    small = TwinTable(
        name="public.small",
        columns=(column("id", "int2", histogram=numbers(20_000)),),
        rows=20_000.0,
        pages=100,
        pages_now=100,
        keys=(TwinKey(name="small_pkey", columns=("id",), is_primary=True),),
    )
    twin = with_tables(*shop_tables(), small)
    assert reasons(twin, factor=2.0)["public.small"] is KeptBecause.KEY_RANGE
    assert "public.small" not in reasons(twin, factor=1.5)


def test_a_partition_by_ranges_of_its_key_keeps_its_rows() -> None:
    parts = TwinTable(
        name="public.part",
        columns=(column("id"),),
        is_partitioned=True,
        partition_by="RANGE (id)",
        keys=(TwinKey(name="part_pkey", columns=("id",), is_primary=True),),
    )
    leaf = replace(
        parts,
        name="public.part_1",
        is_partitioned=False,
        partition_by=None,
        parent="public.part",
        bound="FOR VALUES FROM ('1') TO ('90000')",
        rows=80_000.0,
        pages=300,
        pages_now=300,
    )
    assert reasons(with_tables(*shop_tables(), parts, leaf))["public.part_1"] is KeptBecause.PARTITIONS


@pytest.mark.parametrize("factor", [0.25, 0.5, 2.0, 8.0])
def test_rows_pages_and_keys_are_so_many_times_as_many(factor: float) -> None:
    twin = shop_twin()
    more = grown(twin, growth_plan(twin, 10.0), factor)
    before, after = table_rows(twin), table_rows(more)
    assert after["public.country"] == before["public.country"]
    for name in ("public.customer", "public.orders"):
        assert after[name] == pytest.approx(before[name] * factor)
    orders = more.tables[2]
    assert orders.pages == 800 * factor
    assert orders.indexes[0].pages == pytest.approx(170 * factor, abs=1)
    of_customer = orders.columns[1].statistics
    assert of_customer is not None
    assert of_customer.distinct == 3000 * factor
    assert int(of_customer.histogram[0]) == 1
    assert int(of_customer.histogram[-1]) == 3000 * factor
    # Statuses stay what they are, and as common.
    assert orders.columns[2] == twin.tables[2].columns[2]
    assert orders.joint[0].common_values == ()
    assert orders.joint[0].distinct == {"customer_id, status": 4000 * factor}


def test_a_common_customer_is_there_as_often_as_before_and_has_others_like_him() -> None:
    twin = shop_twin()
    found = grown(twin, growth_plan(twin, 10.0), 4.0).tables[2].columns[1].statistics
    assert found is not None
    assert len(found.common_values) == 8
    assert found.common_shares == pytest.approx((0.005,) * 4 + (0.0025,) * 4)
    assert {int(text) // 3000 for text in found.common_values} == {0, 1, 2, 3}
    # 0.02 of 60,000 rows, and 0.005 of 240,000.
    assert found.common_shares[0] * 240_000 == pytest.approx(0.02 * 60_000)


def test_at_its_own_size_it_is_the_same() -> None:
    twin = shop_twin()
    assert grown(twin, growth_plan(twin, 10.0), 1.0) is twin


@given(st.sampled_from([0.125, 0.5, 2.0, 3.0, 8.0, 16.0]))
def test_rows_can_be_planned_for_any_size(factor: float) -> None:
    twin = shop_twin()
    plan = synthesise(grown(twin, growth_plan(twin, 16.0), factor)).plan
    rows = {table.name: table for table in plan.tables}
    assert rows["public.orders"].rows == round(60_000 * factor)
    assert rows["public.country"].rows == 30
    for planned in rows["public.orders"].columns:
        common = sum(value.rows for value in planned.common)
        assert common + planned.nulls <= rows["public.orders"].rows
        assert planned.distinct <= rows["public.orders"].rows


def test_of_a_key_of_several_columns_the_one_that_counts_within_the_others_grows() -> None:
    country, *_ = shop_tables()
    numbered = TwinTable(
        name="public.numbered",
        columns=(
            column("country_id", distinct=30.0, common_values=("1",), common_shares=(0.1,)),
            column("number", distinct=900.0, histogram=numbers(900)),
        ),
        rows=27_000.0,
        pages=200,
        pages_now=200,
        keys=(TwinKey(name="numbered_pkey", columns=("country_id", "number"), is_primary=True),),
        foreign_keys=(replace(shop_tables()[1].foreign_keys[0], name="numbered_country_fkey"),),
    )
    twin = with_tables(country, numbered)
    assert growth_plan(twin, 4.0).keys == {("public.numbered", "number")}
    found = grown(twin, growth_plan(twin, 4.0), 4.0).tables[1].columns[1].statistics
    assert found is not None
    assert found.distinct == 3600.0


def searching(use: PlaceUse, name: str, table: str = "public.orders") -> RunnableStatement:
    place = Place(number=1, use=use, table=table, column=name, source=0)
    typed = TypedStatement(text="select 1", verb="select", target=None, places=(place,), sources=())
    return RunnableStatement(counted=TwinStatement(query_id=1, text="", calls=1, rows=1, total_ms=1.0), typed=typed)


def test_a_range_of_keys_has_as_many_rows_and_one_of_others_the_same_share() -> None:
    plan = growth_plan(shop_twin(), 10.0)
    choice = Choice(width=0.1)
    assert grown_choice(searching(PlaceUse.LOW, "order_id"), choice, plan, 4.0).width == pytest.approx(0.025)
    assert grown_choice(searching(PlaceUse.LOW, "ordered_at"), choice, plan, 4.0).width == pytest.approx(0.1)


def test_the_customers_with_the_most_orders_are_more_and_the_most_common_states_are_not() -> None:
    plan = growth_plan(shop_twin(), 10.0)
    choice = Choice(ranks=(0, 5))
    assert grown_choice(searching(PlaceUse.EQUAL, "customer_id"), choice, plan, 4.0).copies == 4.0
    assert grown_choice(searching(PlaceUse.EQUAL, "status"), choice, plan, 4.0).copies == 1.0
    # A view has the column of the table.
    assert grown_choice(searching(PlaceUse.EQUAL, "customer_id", "public.order_view"), choice, plan, 4.0).copies == 4.0
