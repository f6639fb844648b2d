"""How well statements are told apart and found again: counters of one trial from its statistics and log. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pgclinic.model.load import LoadResult
from pgclinic.model.sample import Samples
from pgclinic.model.statement import LoggedPlans
from pgclinic.model.study import Counter
from pgclinic.model.trial_events import TrialEvents
from pgclinic.samples.statements import counted_fingerprints, load_query_ids


def identity_counters(load: LoadResult, samples: Samples, events: TrialEvents) -> dict[Counter, float]:
    """The counters that the server's settings allow to be read; the others are left out."""
    texts, ids = events.texts, load_query_ids(samples, load)
    found: dict[Counter, float | None] = {
        Counter.QUERY_IDS: None if ids is None else float(len(ids)),
        Counter.STATEMENT_TEXTS: float(texts.texts) or None,
        Counter.FINGERPRINT_AGREEMENT: texts.agreement,
        Counter.PLANS_LINKED_SHARE: _linked_share(samples, events),
    }
    return {counter: value for counter, value in found.items() if value is not None}


def _linked_share(samples: Samples, events: TrialEvents) -> float | None:
    """A plan is linked when the statistics know its id, and by that id the very statement that was planned."""
    plans = events.texts.plans
    logged = sum(plan.logged for plan in plans)
    if not logged or not samples.of("statements"):
        return None
    known = counted_fingerprints(samples, events.texts.fingerprints_by)
    return sum(plan.logged for plan in plans if _leads_home(plan, known)) / logged


def _leads_home(plan: LoggedPlans, known: Mapping[int, str | None]) -> bool:
    if plan.query_id is None or plan.query_id not in known:
        return False
    text = known[plan.query_id]
    return text is None or plan.fingerprint is None or text == plan.fingerprint
