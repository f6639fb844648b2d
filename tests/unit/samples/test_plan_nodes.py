"""The nodes of a plan, and where two plans differ."""

from __future__ import annotations

from typing import Literal

import pytest

from pgclinic.model.log import LogOrigin, PlanLogged
from pgclinic.samples.plan_nodes import nodes_of, only_in

PLAN = """Sort  (cost=10.0..11.0 rows=1 width=4)
  Sort Key: (lower(note))
  ->  Hash Join  (cost=1.0..2.0 rows=1 width=4)
        ->  Seq Scan on orders o  (cost=0.0..1.0 rows=1 width=4)
              Filter: (note = '->  x')
        ->  Index Scan using a_b on "C  d"  (cost=0.0..1.0 rows=1 width=4)"""


def plan(text: str, form: Literal["text", "json"] = "text") -> PlanLogged:
    return PlanLogged(origin=LogOrigin(), duration_us=1, plan_format=form, query_id=None, query_text=None, plan=text)


def test_nodes_are_read_from_the_top() -> None:
    assert nodes_of(plan(PLAN)) == ("Sort", "Hash Join", "Seq Scan on orders o", 'Index Scan using a_b on "C  d"')
    assert nodes_of(plan(PLAN, "json")) == ()


@pytest.mark.parametrize(
    ("nodes", "other", "expected"),
    [
        (("Sort", "Seq Scan"), ("Sort", "Index Scan"), ("Seq Scan",)),
        # One of two equal nodes is left.
        (("Seq Scan", "Sort", "Seq Scan"), ("Seq Scan", "Sort"), ("Seq Scan",)),
        (("Sort",), ("Sort", "Seq Scan"), ()),
        # The same nodes in another order: all of them.
        (("Sort", "Seq Scan"), ("Seq Scan", "Sort"), ("Sort", "Seq Scan")),
        ((), ("Sort",), ()),
    ],
)
def test_the_nodes_that_only_one_plan_has(
    nodes: tuple[str, ...], other: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert only_in(nodes, other) == expected
