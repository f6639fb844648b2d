"""The plans of auto_explain, given to the statements they belong to. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pgclinic.model.log import PlanLogged
from pgclinic.model.statement import FingerprintMethod, StatementPlan, StatementSeen
from pgclinic.sql.fingerprint import fingerprint

#: What a statement is called: its query id, if it has one, and its fingerprint.
Key = tuple[int | None, str | None]

_PLANS = 3
# A node of a plan as text, without what it cost; and what names a node in the other formats.
_NODE = re.compile(r"^(.*?)  \(cost=", re.MULTILINE)
_NAMED = re.compile(r"(?:Node Type|Node-Type|Relation Name|Relation-Name|Index Name|Index-Name)\W+([^\n<\",]+)")
_HEAD = re.compile(r"\AQuery (?:Text|Parameters): .*?(?=^\S[^\n]*  \(cost=\d)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class PlansFound:
    """Plans by statement, the commonest shape first, and how many were matched in which way."""

    plans: dict[Key, tuple[StatementPlan, ...]]
    by_query_id: int
    by_fingerprint: int
    unmatched: int


def plans_of(
    events: Sequence[PlanLogged], statements: Sequence[StatementSeen], method: FingerprintMethod
) -> PlansFound:
    """Each plan goes by its query id, or by its text where no id was logged or where that is another statement's.

    In the extended protocol the line of a plan may tell the id of the statement after it.
    """
    by_id = {statement.query_id: _key(statement) for statement in statements if statement.query_id is not None}
    by_print = {statement.fingerprint: _key(statement) for statement in statements if statement.fingerprint is not None}
    found: dict[Key, list[PlanLogged]] = defaultdict(list)
    matched_by_id = matched_by_print = 0
    for event in events:
        by_line = by_id.get(event.query_id) if event.query_id is not None else None
        by_text = by_print.get(fingerprint(event.query_text, method)) if event.query_text is not None else None
        same = by_line is not None and (by_text is None or by_text[1] == by_line[1])
        key = by_line if same else by_text
        if key is not None:
            matched_by_id += same
            matched_by_print += not same
            found[key].append(event)
    return PlansFound(
        plans={key: _shapes(own) for key, own in found.items()},
        by_query_id=matched_by_id,
        by_fingerprint=matched_by_print,
        unmatched=len(events) - matched_by_id - matched_by_print,
    )


def _key(statement: StatementSeen) -> Key:
    return statement.query_id, statement.fingerprint


def _shapes(events: Iterable[PlanLogged]) -> tuple[StatementPlan, ...]:
    """Plans that differ in no node are one, shown as the slowest of them."""
    shapes: dict[str, list[PlanLogged]] = defaultdict(list)
    for event in events:
        shapes[plan_shape(event)].append(event)
    plans = []
    for own in shapes.values():
        slowest = max(own, key=lambda event: event.duration_us)
        plans.append(
            StatementPlan(
                plan=_HEAD.sub("", slowest.plan).strip("\n"),
                plan_format=slowest.plan_format,
                logged=len(own),
                mean_ms=sum(event.duration_us for event in own) / len(own) / 1000,
                max_ms=slowest.duration_us / 1000,
            )
        )
    return tuple(sorted(plans, key=lambda plan: plan.logged, reverse=True)[:_PLANS])


def plan_shape(event: PlanLogged) -> str:
    """The nodes of a plan without costs, times and constants."""
    return shape_of_text(event.plan) if event.plan_format == "text" else "\n".join(_NAMED.findall(event.plan))


def shape_of_text(plan: str) -> str:
    """The same of a plan as EXPLAIN prints it."""
    return "\n".join(_NODE.findall(plan))
