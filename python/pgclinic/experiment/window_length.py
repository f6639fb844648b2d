"""How long an arm of an interleaved block has the load, by how long its transactions take. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.judge.lost_work import lost_runs
from pgclinic.model.trial import TrialRecord
from pgclinic.trial.window_plan import GUARD_S

#: A window lasts as long as so many transactions of the slowest tenth. The end of a window cuts half a transaction off
#: on average, so an arm loses a fortieth of its work at most.
TRANSACTIONS = 20


def window_length(records: Sequence[TrialRecord], *, usual_s: float, longest_s: float) -> float | None:
    """In seconds with its guard, given the trials so far; None where only sequential blocks are safe.

    ``usual_s`` unless transactions seen so far are too long for it, ``longest_s`` without its guard at most: each arm
    needs all its turns in its time. Where no window is long enough the first block tells whether work is lost; once it
    was, one block is tried in windows that fit, and then none.
    """
    lost = lost_runs(records)
    wanted_s = _wanted_s(records)
    fits = wanted_s is not None and wanted_s <= longest_s
    if not lost:
        return max(usual_s, wanted_s + GUARD_S) if wanted_s is not None and fits else usual_s
    if len(lost) > 1 or wanted_s is None or not fits:
        return None
    return max(usual_s, wanted_s + GUARD_S)


def _wanted_s(records: Sequence[TrialRecord]) -> float | None:
    """By the slowest tenth of the slowest arm; None where an arm ended no transaction, or nothing was measured."""
    loads = [trial.load for trial in records if trial.load is not None]
    if not loads or any(load.latency.count == 0 for load in loads):
        return None
    return TRANSACTIONS * max(load.latency.p90_us for load in loads) / 1e6
