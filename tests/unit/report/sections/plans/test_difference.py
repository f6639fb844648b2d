"""Where two plans of a statement differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.model.query_plan import PlanNode
from pgclinic.report.sections.plans.difference import marked
from pgclinic.report.sections.plans.tree import PlanTree, TreeNode, nodes_in, tree_of


def tree(*nodes: tuple[int, str, str | None]) -> PlanTree:
    found = tree_of([PlanNode(depth=depth, kind=kind, rows_planned=1.0, relation=of) for depth, kind, of in nodes])
    assert found is not None
    return found


def changes(one: PlanTree) -> list[tuple[str, str]]:
    return [(node.kind, node.change) for node in nodes_in(one.top)]


def test_what_is_gone_what_is_new_and_what_reads_a_table_in_another_way() -> None:
    before, after = marked(
        tree((0, "Limit", None), (1, "Sort", None), (2, "Gather", None), (3, "Parallel Seq Scan", "orders")),
        tree((0, "Limit", None), (1, "Memoize", None), (2, "Index Scan", "orders")),
    )
    assert changes(before) == [("Limit", ""), ("Sort", "gone"), ("Gather", "gone"), ("Parallel Seq Scan", "other node")]
    assert changes(after) == [("Limit", ""), ("Memoize", "new"), ("Index Scan", "other node")]


def test_a_scan_has_one_partner() -> None:
    before, after = marked(
        tree((0, "Append", None), (1, "Seq Scan", "t"), (1, "Seq Scan", "t")),
        tree((0, "Append", None), (1, "Index Scan", "t")),
    )
    assert [word for _, word in changes(before)] == ["", "other node", "gone"]
    assert [word for _, word in changes(after)] == ["", "other node"]


NAMES = st.lists(st.sampled_from(["Sort", "Hash", "Limit", "Seq Scan"]), min_size=1, max_size=12)


@given(NAMES, NAMES)
def test_what_both_have_is_unmarked_in_the_same_order(one: list[str], other: list[str]) -> None:
    def below(kinds: list[str]) -> PlanTree:
        return PlanTree(TreeNode(kinds[0], "", below=tuple(TreeNode(kind, "") for kind in kinds[1:])))

    before, after = marked(below(one), below(other))
    assert [kind for kind, _ in changes(before)] == one
    same = [[kind for kind, word in changes(tree) if not word] for tree in (before, after)]
    assert same[0] == same[1]


@pytest.mark.parametrize("depth", [1, 2])
def test_equal_plans_have_no_change(depth: int) -> None:
    plan = tree((0, "Limit", None), (1, "Sort", None), (depth, "Seq Scan", "orders"))
    assert marked(plan, plan) == (plan, plan)
