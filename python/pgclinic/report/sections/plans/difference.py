"""Where two plans of one statement differ, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from pgclinic.report.sections.plans.tree import PlanTree, TreeNode, changed, nodes_in

#: The words for a node that the other plan lacks; and for one that reads the same table in another way.
GONE, NEW, OTHER = "gone", "new", "other node"


def marked(before: PlanTree, after: PlanTree) -> tuple[PlanTree, PlanTree]:
    """Both plans with their changes. Nodes are compared in the order in which EXPLAIN prints them."""
    left, right = list(nodes_in(before.top)), list(nodes_in(after.top))
    same = SequenceMatcher(None, [one.key for one in left], [one.key for one in right], autojunk=False)
    gone, new = [GONE] * len(left), [NEW] * len(right)
    for block in same.get_matching_blocks():
        gone[block.a : block.a + block.size] = [""] * block.size
        new[block.b : block.b + block.size] = [""] * block.size
    _pair(left, gone, right, new)
    return replace(before, top=changed(before.top, gone)), replace(after, top=changed(after.top, new))


def _pair(left: Sequence[TreeNode], gone: list[str], right: Sequence[TreeNode], new: list[str]) -> None:
    """A scan that is gone and one that is new of the same table are one node that became another."""
    for at, node in enumerate(left):
        if gone[at] != GONE or not _relation(node):
            continue
        found = next((to for to, one in enumerate(right) if new[to] == NEW and _relation(one) == _relation(node)), None)
        if found is not None:
            gone[at] = new[found] = OTHER


def _relation(node: TreeNode) -> str:
    """on orders o"""
    return node.of[node.of.find("on ") :] if "on " in node.of else ""
