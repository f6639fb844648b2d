"""Statements that miss an index: by counters and statistics, in functions, and by too few columns of one."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.made_case import case, column, counted, index, table, table_counters
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.pathologies.schema.index_leads import IndexLead, index_leads
from pgclinic.checkup.pathology import Seen
from pgclinic.model.finding import Confidence
from pgclinic.model.query_plan import PlanNode, PlanSource, QueryPlan
from pgclinic.model.snapshot import IndexState, SqlFunction

ROWS, PAGES = 100_000, 1_000
COLUMNS = (
    column("orders", "id", -1.0),
    column("orders", "shop", 10),
    column("orders", "customer", 20_000),
    column("orders", "state", 2),
    column("orders", "placed", -0.9),
    column("people", "id", -1.0),
    column("people", "name", -1.0),
)


def of(
    text: str, *, buffers: float = PAGES, rows: float = 5.0, scans: int = 100, calls: int = 100, **parts: Any
) -> Case:
    """One statement on orders: a hundred rows on each page, ten shops of 10,000 orders, five orders of a customer."""
    return several((text, buffers, rows), scans=scans, calls=calls, **parts)


def several(
    *statements: tuple[str, float, float],
    scans: int = 100,
    calls: int = 100,
    indexes: tuple[IndexState, ...] = (),
    **parts: Any,
) -> Case:
    return case(
        statements=tuple(
            (text, counted(number, calls=calls, buffers=buffers, rows=rows))
            for number, (text, buffers, rows) in enumerate(statements, start=1)
        ),
        tables=(table(1, "orders", PAGES), table(2, "people", PAGES)),
        counters=(table_counters(1, ROWS, scans), table_counters(2, ROWS, 0)),
        columns=COLUMNS,
        indexes=(index(10, 1, "id", unique=True), index(20, 2, "id", unique=True), *indexes),
        **parts,
    )


def only(made: Case) -> IndexLead:
    (found,) = index_leads(made)
    return found


BY_CUSTOMER = "select * from orders where customer = $1"
BY_BOTH = "select * from orders where shop = $1 and customer = $2"
SHOP = index(11, 1, "shop")


def test_a_scan_for_few_rows_misses_an_index_that_saves_nearly_all_of_it() -> None:
    found = only(of(BY_CUSTOMER))
    assert (found.columns, found.narrow, found.is_guess) == (("customer",), None, False)
    assert 0.98 < found.saving.part < 1.0


@pytest.mark.parametrize(
    "made",
    [
        of(BY_CUSTOMER, calls=10),
        of(BY_CUSTOMER, buffers=5),
        of(BY_CUSTOMER, scans=1),
        of(BY_CUSTOMER, indexes=(index(12, 1, "customer"),)),
        of("select * from orders where state = $1", rows=50_000),
        of("select count(*) from orders where state = $1", rows=1),
    ],
    ids=["called seldom", "reads few pages", "not scanned", "has one", "wants half of the rows", "counts half"],
)
def test_what_misses_none(made: Case) -> None:
    assert list(index_leads(made)) == []


def test_an_index_that_finds_many_rows_of_which_few_are_wanted_has_too_few_columns() -> None:
    """The shop has 10,000 orders on all pages, of which the statement returns five."""
    found = only(of(BY_BOTH, scans=0, indexes=(SHOP,)))
    assert found.narrow is not None
    assert (found.narrow.leading, found.columns) == (("shop",), ("shop", "customer"))
    assert found.narrow.found == pytest.approx(10_000.0)
    assert found.saving.part > 0.95
    assert not found.is_guess


@pytest.mark.parametrize(
    "made",
    [
        of(BY_BOTH, scans=0, buffers=30, indexes=(SHOP,)),
        of(BY_BOTH, scans=0, rows=9_000, indexes=(SHOP,)),
        of(BY_BOTH, scans=0, indexes=(SHOP, index(12, 1, "customer", "shop"))),
        of("select * from orders where shop = $1 and state = $2", scans=0, rows=5_000, indexes=(SHOP,)),
        of("select * from orders where id = $1 and customer = $2", scans=0, rows=1),
    ],
    ids=["visits few pages", "wants what it finds", "has a complete one", "the other finds half", "by a unique key"],
)
def test_an_index_that_has_enough_columns(made: Case) -> None:
    assert list(index_leads(made)) == []


def test_where_nobody_counts_the_rows_that_are_wanted_it_is_a_guess() -> None:
    found = only(of("select count(*) from orders where shop = $1 and customer = $2", scans=0, rows=1, indexes=(SHOP,)))
    assert found.is_guess


def test_the_first_rows_of_an_order_miss_an_index_in_that_order() -> None:
    found = only(of("select * from orders where state = $1 order by placed desc limit $2", rows=10))
    assert (found.columns, found.tail) == (("state",), ("placed",))
    assert found.saving.part > 0.95


def test_a_function_that_scans_is_of_the_statement_that_calls_it() -> None:
    body = SqlFunction(schema="public", name="of_customer", arguments=1, statements=(BY_CUSTOMER,))
    found = only(of("select of_customer($1)", sql_functions=(body,)))
    assert (found.function, found.columns, found.work.text) == (True, ("customer",), "select of_customer($1)")


def test_a_value_of_another_table_leads_to_the_column_that_it_joins() -> None:
    found = only(
        of(
            "select o.* from people p join orders o on o.customer = p.id where p.name = $1",
            buffers=PAGES + 4,
            indexes=(index(21, 2, "name"),),
        )
    )
    assert (found.table.name, found.columns) == ("public.orders", ("customer",))


def test_a_plan_in_the_log_that_looked_rows_up_misses_nothing() -> None:
    node = PlanNode(depth=0, kind="Index Scan", rows_planned=5.0, relation="orders", rows=5.0, loops=1.0)
    looked_up = QueryPlan(source=PlanSource.LOG, nodes=(node,), query_id=1)
    assert list(index_leads(of(BY_CUSTOMER, plans=(looked_up,)))) == []


def test_a_plan_shows_what_no_text_does() -> None:
    """A view hides the column; the plan throws 99,995 of 100,000 rows away and visits all that the call does."""
    node = PlanNode(
        depth=0,
        kind="Seq Scan",
        rows_planned=5.0,
        relation="orders",
        alias="orders",
        rows=5.0,
        loops=1.0,
        rows_removed=99_995.0,
        condition="(customer = ?)",
        buffers=1_000.0,
    )
    plan = QueryPlan(source=PlanSource.LOG, nodes=(node,), query_id=1)
    found = only(of("select * from orders_of_today where who = $1", plans=(plan,)))
    assert found.columns == ("customer",)
    assert found.was_seen
    assert found.saving.part > 0.95


def test_a_plan_by_an_index_shows_the_columns_that_it_lacks() -> None:
    node = PlanNode(
        depth=0,
        kind="Index Scan",
        rows_planned=5.0,
        relation="orders",
        alias="orders",
        rows=5.0,
        loops=1.0,
        rows_removed=9_995.0,
        condition="(customer = ?)",
        lookup="(shop = ?)",
        buffers=1_000.0,
    )
    plan = QueryPlan(source=PlanSource.LOG, nodes=(node,), query_id=1)
    found = only(of("select * from orders_of_a_shop", scans=0, plans=(plan,), indexes=(SHOP,)))
    assert found.columns == ("shop", "customer")


def seen(made: Case) -> list[Seen]:
    return list(catalog()["missing-index"].detect(made))


def test_one_index_that_serves_several_statements_is_one_finding() -> None:
    made = several((BY_CUSTOMER, PAGES, 5.0), (BY_BOTH, PAGES, 5.0))
    (found,) = seen(made)
    assert found.claim is not None
    assert set(found.claim.query_ids) == {1, 2}
    assert min(found.claim.by_statement.values()) > 0.95
    assert found.treatments[0].sql[0].endswith("on public.orders (customer, shop)")


def test_columns_of_which_neither_stands_in_front_of_both_are_two_findings() -> None:
    found = seen(several((BY_CUSTOMER, PAGES, 5.0), ("select * from orders where placed = $1", PAGES, 1.0)))
    assert {one.subject for one in found} == {"public.orders (customer)", "public.orders (placed)"}


def test_what_the_finding_claims_is_no_certainty_where_it_is_guessed() -> None:
    counting = "select count(*) from orders where shop = $1 and customer = $2"
    (guessed,) = seen(of(counting, scans=0, rows=1, indexes=(SHOP,)))
    (returned,) = seen(of(BY_BOTH, scans=0, indexes=(SHOP,)))
    assert (guessed.confidence, returned.confidence) == (Confidence.POSSIBLE, Confidence.LIKELY)
