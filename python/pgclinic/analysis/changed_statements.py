"""Which statements take longer, or less long, in one of two arms."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.analysis.clear_difference import differs_clearly
from pgclinic.analysis.statement_times import statement_times
from pgclinic.model.trial import TrialRecord
from pgclinic.stats.summary import mean


def changed_us(blocks: Sequence[tuple[TrialRecord, TrialRecord]]) -> dict[str, float]:
    """By fingerprint, of the statements that clearly differ: how much longer they take for each transaction in the
    second arm, in microseconds; below 0 for less long."""
    seen = [(statement_times(a), statement_times(b)) for a, b in blocks]
    found: dict[str, float] = {}
    for key in dict.fromkeys(key for pair in seen for one in pair for key in one):
        if not all(key in a and key in b for a, b in seen):
            continue
        first, second = [a[key].us for a, _ in seen], [b[key].us for _, b in seen]
        if differs_clearly(first, second):
            found[key] = mean(second) - mean(first)
    return found
