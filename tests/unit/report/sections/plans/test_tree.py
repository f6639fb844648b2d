"""A plan as a tree: what is of each node alone, and what little older records have."""

from __future__ import annotations

import pytest

from pgclinic.model.query_plan import PlanNode
from pgclinic.pg.query_plan import nodes_of_text
from pgclinic.report.sections.plans.tree import PlanTree, TreeNode, nodes_in, tree_of, tree_of_names, tree_of_shape

SCAN = "Index Scan using orders_pkey on orders o  (cost=0.00..8.00 rows=1000 width=4)"
COUNTED = f"""Limit  (cost=10.00..20.00 rows=10 width=4) (actual time=0.1..9.0 rows=10 loops=1)
  Buffers: shared hit=2018
  ->  Sort  (cost=10.00..25.00 rows=20 width=4) (actual time=0.1..8.9 rows=10 loops=1)
        Sort Method: external merge  Disk: 16kB
        Buffers: shared hit=2018
        ->  {SCAN} (actual time=0.1..3.5 rows=5 loops=2)
              Index Cond: (customer_id = 7)
              Filter: (amount > 3)
              Rows Removed by Filter: 99
              Buffers: shared hit=2000 read=12
        ->  Seq Scan on customer  (cost=0.00..8.00 rows=1 width=4) (never executed)
"""


def shown(tree: PlanTree | None) -> dict[str, TreeNode]:
    assert tree is not None
    return {node.kind: node for node in nodes_in(tree.top)}


def test_a_node_has_what_is_of_it_alone() -> None:
    tree = tree_of(nodes_of_text(COUNTED))
    nodes = shown(tree)
    assert tree is not None and tree.measure == "time"
    assert [(node.kind, round(node.share or 0, 2)) for node in nodes_in(tree.top)] == [
        ("Limit", 0.01),
        ("Sort", 0.21),
        ("Index Scan", 0.78),
        ("Seq Scan", 0.0),
    ]
    assert nodes["Index Scan"].figures == ("5 rows (1,000 estimated)", "2 loops", "2,012 buffers", "7 ms")
    assert nodes["Sort"].figures[1:] == ("6 buffers", "1.9 ms")
    assert [node.kind for node in nodes.values() if node.is_most] == ["Index Scan"]
    assert [node.kind for node in nodes.values() if node.is_misjudged] == ["Index Scan"]
    assert (nodes["Index Scan"].of, nodes["Seq Scan"].of) == ("using orders_pkey on orders o", "on customer")
    assert nodes["Index Scan"].notes == (
        "index condition: (customer_id = ?)",
        "condition: (amount > ?)",
        "99 rows removed by conditions",
    )
    assert nodes["Sort"].notes == ("16.4 kB in temporary files",)
    assert nodes["Seq Scan"].figures == ("never executed",)
    assert [child.kind for child in nodes["Sort"].below] == ["Index Scan", "Seq Scan"]


def test_the_text_of_a_tree_has_a_line_for_each_node() -> None:
    tree = tree_of(nodes_of_text(COUNTED))
    assert tree is not None
    lines = tree.text.splitlines()
    assert lines[0] == "Limit  (1 % of time, 10 rows (10 estimated), 100 µs)"
    assert lines[2].startswith("    Index Scan using orders_pkey on orders o  (78 % of time, 5 rows (1,000 estimated)")
    assert lines[3] == "    Seq Scan on customer  (never executed)"


def test_without_times_buffers_are_the_measure_and_without_those_the_estimated_cost() -> None:
    scan = PlanNode(depth=1, kind="Seq Scan", rows_planned=1.0, relation="t", rows=1.0, loops=1.0, buffers=90.0, cost=5)
    top = PlanNode(depth=0, kind="Sort", rows_planned=1.0, rows=1.0, loops=1.0, buffers=100.0, cost=20.0)
    by_buffers = tree_of((top, scan))
    assert by_buffers is not None
    assert (by_buffers.measure, by_buffers.top.share_words, by_buffers.top.width) == ("buffers", "10 %", "10.0%")
    planned = [PlanNode(depth=one.depth, kind=one.kind, rows_planned=1.0, cost=one.cost) for one in (top, scan)]
    by_cost = tree_of(planned)
    assert by_cost is not None
    assert (by_cost.measure, by_cost.top.share) == ("estimated cost", 0.75)
    assert by_cost.top.figures == ("rows: 1 estimated",)
    bare = tree_of([PlanNode(depth=one.depth, kind=one.kind, rows_planned=1.0) for one in (top, scan)])
    assert bare is not None
    assert (bare.measure, bare.top.share, bare.top.is_most) == ("", None, False)


@pytest.mark.parametrize(("inner", "share"), [("Index Scan", 0.8), ("Materialize", 0.08)])
def test_the_inner_side_of_a_nested_loop_costs_what_all_its_loops_cost(inner: str, share: float) -> None:
    join = PlanNode(depth=0, kind="Nested Loop", rows_planned=1.0, cost=100.0)
    outer = PlanNode(depth=1, kind="Seq Scan", rows_planned=10.0, cost=10.0)
    tree = tree_of((join, outer, PlanNode(depth=1, kind=inner, rows_planned=1.0, cost=8.0)))
    assert shown(tree)[inner].share == pytest.approx(share)


def test_what_is_no_plan_or_too_large_is_not_drawn() -> None:
    assert tree_of(()) is None
    assert tree_of([PlanNode(depth=at, kind="Append", rows_planned=1.0) for at in range(200)]) is None
    assert tree_of([PlanNode(depth=min(at, 1), kind="Append", rows_planned=1.0) for at in range(1000)]) is None


def test_a_shape_is_read_as_a_tree() -> None:
    tree = tree_of_shape("Nested Loop Left(Index Scan orders orders_pkey, Hash(Seq Scan item))")
    assert tree is not None
    assert [node.kind for node in tree.top.below] == ["Index Scan orders orders_pkey", "Hash"]
    assert [node.kind for node in nodes_in(tree.top)][-1] == "Seq Scan item"
    assert (tree.measure, tree.top.share) == ("", None)


@pytest.mark.parametrize(
    "shape", ["", "(", "a(", "a)", "a(b", "a(b,)", "a(b))", "a, b", "a(" * 5000, "a(" + "b,a(" * 3000]
)
def test_a_shape_whose_brackets_do_not_fit_is_none(shape: str) -> None:
    assert tree_of_shape(shape) is None


def test_names_alone_stand_below_the_first() -> None:
    tree = tree_of_names(("Sort", "Seq Scan on orders"))
    assert tree is not None
    assert (tree.top.kind, [node.kind for node in tree.top.below]) == ("Sort", ["Seq Scan on orders"])
    assert tree_of_names(()) is None
