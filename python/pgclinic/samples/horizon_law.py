"""The square-root law of a held horizon, fitted on the samples of one or several trials. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pgclinic.model.sample import Samples
from pgclinic.samples.deltas import Rate, grown, hits_per_transaction
from pgclinic.stats.root_law import RootLaw, fit_root_law

#: With fewer stretches between samples, or a counter less straight than this, nothing is predicted.
STRETCHES_MIN = 8
R_SQUARED_MIN = 0.9

HOUR_S = 3600.0


def tps_kept_after_an_hour(samples: Samples, *, measured_s: float) -> float | None:
    """The TPS predicted for one hour over the TPS at the start, from one trial; None where no law fits."""
    law = fitted_law([(samples, measured_s)])
    return law.tps_at(HOUR_S) / law.tps_at_start if law is not None else None


def fitted_law(trials: Iterable[tuple[Samples, float]]) -> RootLaw | None:
    """The law of all trials together, each by its samples and measured seconds.

    None with too few stretches in which anything was committed, or where the hits follow no straight line upwards.
    """
    versions: list[float] = []
    hits: list[float] = []
    tps: list[float] = []
    for samples, measured_s in trials:
        committed = 0.0
        for before, after in pairwise(sample for sample in samples.of(Rate.COMMITS.view) if sample.rows):
            commits, each = grown((before, after), Rate.COMMITS), hits_per_transaction(before, after)
            if commits is None or each is None or commits.seconds <= 0:
                continue
            # What the warm-up left behind counts, its rate does not; nor does the time after the load.
            if before.at_s >= 0 and after.at_s <= measured_s:
                versions.append(committed + commits.amount / 2)
                hits.append(each)
                tps.append(commits.amount / commits.seconds)
            committed += commits.amount
    if len(versions) < STRETCHES_MIN or len(set(versions)) < 2 or len(set(hits)) < 2:
        return None
    law = fit_root_law(versions, hits, tps)
    if law is None or law.hits.r_squared < R_SQUARED_MIN or law.halved_after_s is None:
        return None
    return law
