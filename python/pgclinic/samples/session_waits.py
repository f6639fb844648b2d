"""What the sessions of one trial's load waited for."""

from __future__ import annotations

from collections import Counter

from pgclinic.model.trial import TrialRecord
from pgclinic.samples.deltas import waits_of, without_other_clients

_OF_LOAD = ("client backend", "parallel worker")


def session_waits(trial: TrialRecord) -> dict[str, float]:
    """How many sessions at a time, on average over the samples of the measured time; empty without a sample."""
    if trial.load is None:
        return {}
    taken = [one for one in trial.samples.of("activity") if 0 <= one.at_s <= trial.load.span_s]
    sums: Counter[str] = Counter()
    for sample in taken:
        rows = without_other_clients(sample.rows)
        sums.update(waits_of(row for row in rows if row.get("backend_type") in _OF_LOAD))
    return {wait: total / len(taken) for wait, total in sums.items()}
