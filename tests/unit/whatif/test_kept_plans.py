"""A record keeps both plans of a statement, of bounded size and without constants."""

from __future__ import annotations

from typing import Any

import msgspec

from pgclinic.whatif.kept_plans import CONDITION_MAX, NODES_MAX, plans_kept

SCAN = {"Node Type": "Seq Scan", "Relation Name": "orders", "Plan Rows": 3, "Filter": "(note = 'secret')"}


def appended(nodes: int) -> dict[str, Any]:
    return {"Node Type": "Append", "Plan Rows": 1, "Plans": [SCAN] * (nodes - 1)}


def test_both_are_kept_without_constants() -> None:
    before, after = plans_kept(SCAN, {"Node Type": "Limit", "Plan Rows": 1, "Plans": [SCAN]})
    assert [node.kind for node in before] == ["Seq Scan"]
    assert [(node.depth, node.kind) for node in after] == [(0, "Limit"), (1, "Seq Scan")]
    assert before[0].condition == "(note = ?)"


def test_a_plan_too_long_to_be_kept_leaves_none_of_both() -> None:
    assert [len(nodes) for nodes in plans_kept(SCAN, appended(NODES_MAX))] == [1, NODES_MAX]
    assert plans_kept(SCAN, appended(NODES_MAX + 1)) == ((), ())
    assert plans_kept(appended(NODES_MAX + 1), SCAN) == ((), ())


def test_the_size_of_both_is_bounded() -> None:
    name = "n" * 63
    wide = {
        "Node Type": "Parallel Index Only Scan",
        "Relation Name": name,
        "Alias": name,
        "Index Name": name,
        "Plan Rows": 1e12,
        "Actual Rows": 1e12,
        "Actual Loops": 1e9,
        "Total Cost": 1e12,
        "Shared Hit Blocks": 1e12,
        "Filter": " AND ".join(f"(column_{number} = {number})" for number in range(200)),
        "Index Cond": " AND ".join(f"(column_{number} = {number})" for number in range(200)),
    }
    whole = {"Node Type": "Append", "Plan Rows": 1, "Plans": [wide] * (NODES_MAX - 1)}
    both = plans_kept(whole, whole)
    assert all(len(node.condition or "") == CONDITION_MAX for node in both[0][1:])
    assert len(msgspec.json.encode(both)) < 150_000
