"""The plans of a statement before and after a change as a record keeps them: of bounded size, without constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pgclinic.model.query_plan import PlanNode
from pgclinic.pg.query_plan import nodes_of_json

#: A record keeps plans of no more nodes, and so much of their conditions: 115 kB for both at most, 2 kB as a rule.
NODES_MAX, CONDITION_MAX = 60, 240

Nodes = tuple[PlanNode, ...]


def plans_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Nodes, Nodes]:
    """From the objects behind ``Plan`` in the JSON format; none where one of them is too long to be kept, as half of a
    plan is none."""
    plans = (nodes_of_json(before), nodes_of_json(after))
    if max(map(len, plans)) > NODES_MAX:
        return (), ()
    return tuple(map(_shortened, plans[0])), tuple(map(_shortened, plans[1]))


def _shortened(node: PlanNode) -> PlanNode:
    return replace(node, condition=_cut(node.condition), lookup=_cut(node.lookup))


def _cut(words: str | None) -> str | None:
    return words if words is None or len(words) <= CONDITION_MAX else f"{words[: CONDITION_MAX - 1]}…"
