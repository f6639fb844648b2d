"""By which columns plans look for rows."""

from __future__ import annotations

from pgclinic.indexes.planned_columns import PlannedColumns, planned_columns
from pgclinic.model.query_plan import PlanNode


def scan(relation: str, condition: str | None, *, depth: int = 1, lookup: str | None = None) -> PlanNode:
    return PlanNode(
        depth=depth,
        kind="Seq Scan",
        rows_planned=1.0,
        relation=relation,
        alias=relation[0],
        condition=condition,
        lookup=lookup,
    )


def test_columns_that_a_filter_compares() -> None:
    (found,) = planned_columns([scan("orders", "((customer = ?) AND (placed > ?) AND (note ~~ ?))")])
    assert found == PlannedColumns("orders", equal=("customer",), ranges=("placed",))


def test_columns_that_a_join_compares_are_those_of_both_sides() -> None:
    top = PlanNode(depth=0, kind="Hash Join", rows_planned=1.0, condition="(l.order_id = o.id)")
    found = list(planned_columns([top, scan("line", None), scan("orders", "(o.customer = ?)")]))
    assert found == [
        PlannedColumns("line", joined=("order_id",)),
        PlannedColumns("orders", equal=("customer",), joined=("id",)),
    ]


def test_what_an_index_finds_and_what_is_filtered_stand_together() -> None:
    (found,) = planned_columns([scan("orders", "(status = ?)", lookup="(customer = ?)")])
    assert found.equal == ("status", "customer")


def test_a_scan_without_a_condition_looks_for_nothing() -> None:
    assert list(planned_columns([scan("orders", None)])) == []
