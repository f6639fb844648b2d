"""How well statements are told apart and found again: counters of one trial from its statistics and log. Pure."""

from __future__ import annotations

from pgclinic.model.load import LoadResult
from pgclinic.model.sample import Samples
from pgclinic.model.study import Counter
from pgclinic.model.trial_events import TrialEvents
from pgclinic.observe.statements import counted_query_ids, load_query_ids


def identity_counters(load: LoadResult, samples: Samples, events: TrialEvents) -> dict[Counter, float]:
    """Those that the server's settings allow to be read; the others are left out."""
    texts, ids = events.texts, load_query_ids(samples, load)
    found: dict[Counter, float | None] = {
        Counter.QUERY_IDS: None if ids is None else float(len(ids)),
        Counter.STATEMENT_TEXTS: float(texts.texts) or None,
        Counter.FINGERPRINT_AGREEMENT: texts.agreement,
        Counter.PLANS_LINKED_SHARE: _linked_share(samples, events),
    }
    return {counter: value for counter, value in found.items() if value is not None}


def _linked_share(samples: Samples, events: TrialEvents) -> float | None:
    plans = events.texts.plans
    logged = sum(plans.values()) + events.texts.plans_without_id
    if not logged or not samples.of("statements"):
        return None
    known = counted_query_ids(samples)
    return sum(number for query_id, number in plans.items() if query_id in known) / logged
