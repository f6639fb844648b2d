"""Whether a counter went one way all through a trial: a rate that comes down needs a cause that keeps growing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pgclinic.judge.evidence import DECLINE
from pgclinic.model.study import Counter, Mechanism, Question
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.deltas import Rate, hits_per_transaction
from pgclinic.stats.slope import monotone

#: Seconds are noisy: backends tell their counters up to a second late. Thirds of some seconds are not.
PARTS = 3
SAMPLES_A_PART = 4


def went_one_way(claim: Question, mechanism: Mechanism, trials: Sequence[TrialRecord]) -> bool | None:
    """Whether the counter of a claimed decline went the needed way from third to third in each of the arm's trials.

    None where nothing declines, or where no trial tells of this counter by the second.
    """
    if claim.measure != DECLINE or mechanism.counter != Counter.BUFFER_HITS_PER_TRANSACTION:
        return None
    series = [parts for trial in trials if (parts := hits_by_part(trial)) is not None]
    direction = 1 if mechanism.ratio_min >= 1 else -1
    return all(monotone(parts, direction) for parts in series) if series else None


def hits_by_part(trial: TrialRecord) -> tuple[float, ...] | None:
    """Buffer hits per transaction in each third of what was measured; None where there are too few samples."""
    span_s = trial.load.span_s if trial.load is not None else 0.0
    inside = [sample for sample in trial.samples.of(Rate.COMMITS.view) if sample.rows and 0.0 <= sample.at_s <= span_s]
    if len(inside) <= PARTS * SAMPLES_A_PART:
        return None
    edges = [inside[part * (len(inside) - 1) // PARTS] for part in range(PARTS + 1)]
    parts = [hits_per_transaction(before, after) for before, after in pairwise(edges)]
    known = tuple(part for part in parts if part is not None)
    return known if len(known) == PARTS else None
