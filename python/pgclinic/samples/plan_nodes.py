"""The nodes of query plans as EXPLAIN's text names them, and where two plans differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pgclinic.model.log import PlanLogged

_NODE = re.compile(r"^[ \t]*(?:->[ \t]*)?(\S.*?)  \(cost=", re.MULTILINE)


def nodes_of(event: PlanLogged) -> tuple[str, ...]:
    """From the top: ``("Sort", "Seq Scan on orders")``; none of a plan that is not text."""
    return tuple(_NODE.findall(event.plan)) if event.plan_format == "text" else ()


def only_in(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """The nodes of ``one`` that ``other`` has not, or not as often; all of them where only their order differs."""
    left = Counter(one) - Counter(other)
    found = []
    for node in one:
        if left[node] > 0:
            left[node] -= 1
            found.append(node)
    return tuple(found) if found or Counter(other) - Counter(one) else tuple(one)
