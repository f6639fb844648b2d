"""Counters of one trial from who was doing what: lock waits, statements in common, the held horizon. Pure."""

from __future__ import annotations

from collections import defaultdict

from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.model.study import Counter
from pgclinic.samples.deltas import without_other_clients
from pgclinic.samples.horizon_law import tps_kept_after_an_hour

_CLIENT = "client backend"


def activity_counters(samples: Samples, *, measured_s: float) -> dict[Counter, float]:
    """From the samples inside the measured time, 0 to ``measured_s``; a counter that no sample gives is left out.

    ``horizon_age_xids`` is that of the last sample, in transactions: what is held when the load ends.
    """
    inside = _inside(samples.of("activity"), measured_s)
    found = {
        Counter.LOCK_WAIT_SHARE: _lock_wait_share(inside),
        Counter.BACKENDS_ON_ONE_QUERY_ID: _most_on_one_id(inside),
        Counter.TPS_KEPT_AFTER_AN_HOUR: tps_kept_after_an_hour(samples, measured_s=measured_s),
        Counter.HORIZON_AGE_XIDS: _horizon_age(_inside(samples.of("horizon"), measured_s)),
    }
    return {counter: value for counter, value in found.items() if value is not None}


def _inside(taken: tuple[Sample, ...], measured_s: float) -> list[Sample]:
    return [sample for sample in taken if 0.0 <= sample.at_s <= measured_s]


def _active(sample: Sample) -> list[Row]:
    rows = without_other_clients(sample.rows)
    return [row for row in rows if row.get("state") == "active" and row.get("backend_type") == _CLIENT]


def _backends(row: Row) -> int:
    value = row.get("backends")
    return value if isinstance(value, int) else 0


def _lock_wait_share(inside: list[Sample]) -> float | None:
    active = [row for sample in inside for row in _active(sample)]
    total = sum(map(_backends, active))
    if not total:
        return None
    return sum(_backends(row) for row in active if row.get("wait_event_type") == "Lock") / total


def _most_on_one_id(inside: list[Sample]) -> float | None:
    most: int | None = None
    for sample in inside:
        by_id: dict[object, int] = defaultdict(int)
        for row in _active(sample):
            if row.get("query_id") is not None:
                by_id[row["query_id"]] += _backends(row)
        if by_id:
            most = max(most or 0, *by_id.values())
    return None if most is None else float(most)


def _horizon_age(inside: list[Sample]) -> float | None:
    """Of no holder at all it is 1: the horizon is the newest transaction, and a ratio needs a figure above zero."""
    if not inside:
        return None
    ages = [row.get("age_xids") for row in inside[-1].rows]
    known = [float(age) for age in ages if isinstance(age, int | float)]
    return max(1.0, *known) if known else 1.0
