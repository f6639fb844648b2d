"""Which statements one trial's load ran, how long they took, and by which plans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pgclinic.model.load import CommandKind
from pgclinic.model.log import PlanLogged
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.plan_nodes import nodes_of
from pgclinic.sql.fingerprint import fingerprint


@dataclass(frozen=True)
class StatementTime:
    """``us`` is the time per transaction as the client waited; of a statement inside a function, which no client sees,
    what the server logged for it. ``plan`` is the commonest of its plans, () where none is known."""

    text: str
    us: float
    plan: tuple[str, ...] = ()


def statement_times(trial: TrialRecord) -> dict[str, StatementTime]:
    """By fingerprint."""
    load = trial.load
    if load is None or not load.transactions:
        return {}
    found: dict[str, StatementTime] = {}
    for script in load.scripts:
        for statement in script.statements:
            if statement.kind is CommandKind.SQL and statement.latency.count:
                key = fingerprint(statement.text)
                us = statement.latency.mean_us * statement.latency.count / load.transactions
                before = found.get(key)
                text = before.text if before is not None else " ".join(statement.text.split()).removesuffix(";")
                found[key] = StatementTime(text, us + (before.us if before is not None else 0.0))
    return _with_plans(found, trial)


def _with_plans(found: dict[str, StatementTime], trial: TrialRecord) -> dict[str, StatementTime]:
    plans: dict[str, list[PlanLogged]] = {}
    for one in trial.events.kept:
        if isinstance(one.event, PlanLogged) and one.event.query_text is not None:
            plans.setdefault(fingerprint(one.event.query_text), []).append(one.event)
    # The plan of a statement that the load did not get to says nothing of its time in a transaction.
    scripts = trial.load.scripts if trial.load is not None else ()
    sent = {fingerprint(statement.text) for script in scripts for statement in script.statements}
    for key, events in plans.items():
        if key not in found and key in sent:
            continue
        plan = Counter(nodes_of(event) for event in events).most_common(1)[0][0]
        seen = found.get(key)
        if seen is None:
            text = " ".join((events[0].query_text or "").split()).removesuffix(";")
            seen = StatementTime(text, sum(event.duration_us for event in events) / len(events))
        found[key] = StatementTime(seen.text, seen.us, plan)
    return found
