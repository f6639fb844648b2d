"""Which statements take longer, or less long, in one of two arms."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.trial import TrialRecord
from pgclinic.samples.clear_difference import clear_differences
from pgclinic.samples.statement_times import statement_times
from pgclinic.stats.summary import mean


def changed_us(blocks: Sequence[tuple[TrialRecord, TrialRecord]]) -> dict[str, float]:
    """By fingerprint, of the statements that clearly differ: how much longer they take for each transaction in the
    second arm, in microseconds; below 0 for less long."""
    seen = [(statement_times(a), statement_times(b)) for a, b in blocks]
    in_all = [key for key in seen[0][0] if all(key in a and key in b for a, b in seen)] if seen else []
    figures = [([a[key].us for a, _ in seen], [b[key].us for _, b in seen]) for key in in_all]
    differ = clear_differences(figures)
    return {
        key: mean(second) - mean(first)
        for key, (first, second), differs in zip(in_all, figures, differ, strict=True)
        if differs
    }
