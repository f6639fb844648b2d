"""How long until a rate has halved under a held horizon: the law of the fall, from the counters of the trials. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.judge.regions import direction_of
from pgclinic.model.reason import BeyondCache, HalvingForecast
from pgclinic.model.study import Counter, Question
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.horizon_law import HOUR_S, fitted_law
from pgclinic.stats.root_law import RootLaw

#: A last cache as servers have it, for a machine's own is not told to guests.
CACHE_BYTES = 32 * 2**20

_PAGE_BYTES = 8192


def halving_forecast(claim: Question, trials: Sequence[TrialRecord]) -> HalvingForecast | None:
    """What the hits per transaction of a falling claim's arm foretell; None where they follow no straight line."""
    if direction_of(claim) >= 0 or claim.levels or not _names_hits(claim):
        return None
    law = fitted_law((trial.samples, trial.load.span_s) for trial in trials if trial.load is not None)
    if law is None or law.halved_after_s is None:
        return None
    cheap, dear = (law.tps_at(HOUR_S, price) for price in law.prices)
    return HalvingForecast(
        arm=claim.arm,
        hits_at_zero=law.hits.at_zero,
        hits_per_version=law.hits.slope,
        r_squared=law.hits.r_squared,
        tps_at_start=law.tps_at_start,
        halved_after_s=law.halved_after_s,
        tps_hour=law.tps_at(HOUR_S),
        tps_hour_cheap=cheap,
        tps_hour_dear=dear,
        beyond_cache=_beyond_cache(law, trials),
    )


def _beyond_cache(law: RootLaw, trials: Sequence[TrialRecord]) -> BeyondCache | None:
    """What becomes of it once the versions no longer fit into the processor's cache; None where they do."""
    each = _version_bytes(trials)
    if each is None or law.versions_at(HOUR_S) * each <= CACHE_BYTES:
        return None
    return BeyondCache(
        versions_bytes=law.versions_at(HOUR_S) * each,
        cache_bytes=CACHE_BYTES,
        tps=law.tps_beyond_cache(HOUR_S, CACHE_BYTES / each),
    )


def _version_bytes(trials: Sequence[TrialRecord]) -> float | None:
    """The table's bytes for one version left behind; None where nobody looked into the pages."""
    pages = committed = 0
    for trial in trials:
        if trial.pages is not None and trial.load is not None:
            pages += trial.pages.table_pages
            committed += trial.load.transactions + trial.load.warm_up_transactions
    return pages * _PAGE_BYTES / committed if pages and committed else None


def _names_hits(claim: Question) -> bool:
    return any(mechanism.counter == Counter.BUFFER_HITS_PER_TRANSACTION for mechanism in claim.mechanisms)
