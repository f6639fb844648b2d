"""Plans as text and as JSON become the same nodes."""

from __future__ import annotations

import pytest

from pgclinic.model.query_plan import PlanNode
from pgclinic.pg.query_plan import nodes_of_json_text, nodes_of_text

TEXT = """Query Text: select 1
Gather  (cost=1000.00..2000.00 rows=5 width=4) (actual time=0.1..3.2 rows=4 loops=1)
  Workers Planned: 2
  ->  Parallel Seq Scan on public."Orders" o  (cost=0.00..20.00 rows=5 width=4) (actual time=0.1..0.2 rows=1.33 loops=3)
        Filter: ((customer_id = 5) AND (status = 'secret'::text))
        Rows Removed by Filter: 999
  ->  Index Scan using orders_pkey on orders  (cost=0.29..8.30 rows=1 width=4) (never executed)
        Index Cond: (id = 5)
  ->  Bitmap Index Scan on orders_c  (cost=0.29..8.30 rows=1 width=4)
  ->  Sort  (cost=1.00..2.00 rows=7 width=8) (actual rows=7 loops=1)
        Sort Method: external merge  Disk: 1234kB
        ->  HashAggregate  (cost=1.00..2.00 rows=7 width=8) (actual rows=7 loops=1)
              Batches: 5  Memory Usage: 8241kB  Disk Usage: 10kB
"""


def test_the_nodes_of_a_text() -> None:
    gather, scan, index, bitmap, sort, aggregate = nodes_of_text(TEXT)
    assert gather == PlanNode(depth=0, kind="Gather", rows_planned=5.0, rows=4.0, loops=1.0, cost=2000.0, time_ms=3.2)
    assert (scan.depth, scan.kind, scan.relation, scan.alias) == (1, "Parallel Seq Scan", "Orders", "o")
    assert (scan.rows, scan.loops, scan.rows_removed) == (1.33, 3.0, 999.0)
    assert scan.condition == "((customer_id = ?) AND (status = ?::text))"
    assert (index.index, index.relation, index.lookup, index.loops) == ("orders_pkey", "orders", "(id = ?)", 0.0)
    assert (index.cost, index.time_ms, sort.time_ms) == (8.3, None, None)
    assert (bitmap.index, bitmap.relation, bitmap.rows) == ("orders_c", None, None)
    assert (sort.disk_bytes, aggregate.depth, aggregate.disk_bytes) == (1234 * 1024, 2, 10 * 1024)


def test_the_nodes_of_json() -> None:
    (join, scan) = nodes_of_json_text(
        """[{"Query Text": "select 1", "Plan": {"Node Type": "Hash Join", "Plan Rows": 3, "Hash Cond": "(a.x = b.y)",
        "Rows Removed by Join Filter": 2, "Join Filter": "(a.z > 'secret')", "Actual Rows": 3.00, "Actual Loops": 1,
        "Plans": [{"Node Type": "Seq Scan", "Parallel Aware": true, "Relation Name": "Orders", "Alias": "a",
        "Plan Rows": 100, "Total Cost": 12.5, "Actual Total Time": 0.25, "Filter": "(c = 7)"}]}}]"""
    )
    assert (join.kind, join.rows, join.loops, join.rows_removed) == ("Hash Join", 3.0, 1.0, 2.0)
    assert join.condition == "(a.z > ?) AND (a.x = b.y)"
    assert (scan.depth, scan.kind, scan.relation, scan.alias) == (1, "Parallel Seq Scan", "Orders", "a")
    assert scan.condition == "(c = ?)"
    assert (scan.cost, scan.time_ms, join.cost, join.time_ms) == (12.5, 0.25, None, None)


def test_the_buffers_of_nodes() -> None:
    """Those of planning are of no node, and a node that names none visited none that anybody counted."""
    sort, scan, result = nodes_of_text(
        """Sort  (cost=1.00..2.00 rows=7 width=8) (actual rows=7 loops=1)
  Sort Method: external merge  Disk: 1234kB
  Buffers: shared hit=12 read=3 dirtied=1, temp read=5 written=6
  ->  Seq Scan on o  (cost=0.00..20.00 rows=5 width=4) (actual rows=1 loops=3)
        Buffers: shared hit=12
  ->  Result  (cost=0.00..0.01 rows=1 width=4) (actual rows=1 loops=1)
Planning:
  Buffers: shared hit=99
"""
    )
    assert (sort.buffers, scan.buffers, result.buffers) == (26.0, 12.0, None)
    (counted, plain) = nodes_of_json_text(
        """{"Plan": {"Node Type": "Sort", "Plan Rows": 3, "Shared Hit Blocks": 2, "Shared Read Blocks": 1,
        "Temp Written Blocks": 4, "Plans": [{"Node Type": "Seq Scan", "Plan Rows": 100}]}}"""
    )
    assert (counted.buffers, plain.buffers) == (7.0, None)


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"Plan": 3}', "no plan", "Seq Scan on x"])
def test_what_is_no_plan_has_no_nodes(text: str) -> None:
    assert nodes_of_json_text(text) == nodes_of_text(text) == ()
