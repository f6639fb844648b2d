"""How long until a rate has halved under a held horizon: the law of the fall, from the counters of the trials. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.study import Claim, Counter
from pgclinic.model.trial import TrialRecord
from pgclinic.observe.held_law import HOUR_S, fitted_law
from pgclinic.stats.root_law import RootLaw
from pgclinic.study.figures import number
from pgclinic.study.vocabulary import direction_of

#: A last cache as servers have it, for a machine's own is not told to guests.
CACHE_BYTES = 32 * 2**20

_PAGE_BYTES = 8192


def forecast_steps(claim: Claim, trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """What the hits per transaction of a falling claim's arm foretell; nothing where they follow no straight line."""
    if direction_of(claim) >= 0 or claim.levels or not _names_hits(claim):
        return ()
    law = fitted_law((one.samples, one.load.measured_s) for one in trials if one.load is not None)
    if law is None or law.halved_after_s is None:
        return ()
    cheapest, dearest = (number(law.tps_at(HOUR_S, price)) for price in law.prices)
    return (
        f"In {claim.arm} the buffer hits of one update follow {law.hits.at_zero:.1f} + {law.hits.slope * 1000:.2f} for "
        f"every 1,000 versions left behind (R² {law.hits.r_squared:.3f}). If nothing else changes, TPS falls with the "
        f"root of the time: half of {number(law.tps_at_start)} after {number(law.halved_after_s)} s of such a load, "
        f"{number(law.tps_at(HOUR_S))} after an hour; {dearest} to {cheapest} if a hit stays as dear, or as cheap, as "
        f"it was in a tenth of the time.{_beyond_cache(law, trials)}",
    )


def _beyond_cache(law: RootLaw, trials: Sequence[TrialRecord]) -> str:
    """What becomes of it once the versions no longer fit into the processor's cache; nothing where they do."""
    each = _version_bytes(trials)
    if each is None or law.versions_at(HOUR_S) * each <= CACHE_BYTES:
        return ""
    size = law.versions_at(HOUR_S) * each / 2**20
    slower = number(law.tps_beyond_cache(HOUR_S, CACHE_BYTES / each))
    return (
        f" By then the table has {number(size)} MB of versions, and beyond the processor's last cache (often some "
        f"{CACHE_BYTES / 2**20:.0f} MB) each hit costs more: rather {slower} TPS."
    )


def _version_bytes(trials: Sequence[TrialRecord]) -> float | None:
    """The table's bytes for one version left behind; None where nobody looked into the pages."""
    pages = committed = 0
    for trial in trials:
        if trial.pages is not None and trial.load is not None:
            pages += trial.pages.table_pages
            committed += trial.load.transactions + trial.load.warm_up_transactions
    return pages * _PAGE_BYTES / committed if pages and committed else None


def _names_hits(claim: Claim) -> bool:
    return any(one.counter == Counter.BUFFER_HITS_PER_TRANSACTION for one in claim.mechanisms)
