"""Caches of transaction status, subtransactions, multixacts and notifications: how often they are asked, and miss."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.checkup.transactions import ended_transactions
from pgclinic.model.finding import Applies, Treatment
from pgclinic.model.snapshot_counters import Counters, SlruCounters

#: The name of each cache until 16, by that since 17.
_EARLIER_NAMES = {
    "commit_timestamp": "CommitTs",
    "multixact_member": "MultiXactMember",
    "multixact_offset": "MultiXactOffset",
    "notify": "Notify",
    "serializable": "Serial",
    "subtransaction": "Subtrans",
    "transaction": "Xact",
}
CACHES = tuple(_EARLIER_NAMES)
_LATER_NAMES = {earlier: later for later, earlier in _EARLIER_NAMES.items()}
SETTINGS_SINCE = 17
AVOID_SUBTRANSACTIONS = Treatment(
    title="use fewer than 64 savepoints, or PL/pgSQL blocks with EXCEPTION, in one transaction",
    applies=Applies.APPLICATION,
    risk="an error takes back more of the transaction",
    prevents=True,
)


@dataclass(frozen=True)
class SlruUse:
    """Use of one cache during the observation, or without one since its counters were reset."""

    name: str
    lookups: int
    misses: int
    seconds: float
    transactions: int

    @property
    def lookups_per_transaction(self) -> float:
        return self.lookups / max(self.transactions, 1)

    @property
    def misses_per_s(self) -> float:
        return self.misses / self.seconds

    @property
    def setting(self) -> str:
        """What sets its size, since 17."""
        return f"{self.name}_buffers"


def slru_use(case: Case, name: str) -> SlruUse | None:
    """None where this server does not count it."""
    now = _of(case.snapshot.counters, name)
    if now is None:
        return None
    ended = ended_transactions(case.snapshot.counters)
    before = case.snapshot.counters_before
    earlier = _of(before, name) if before is not None else None
    if before is None or earlier is None or not case.observed_s:
        return SlruUse(name, now.hits + now.reads, now.reads, case.since_s(now.reset_epoch_s), ended)
    return SlruUse(
        name,
        max(now.hits + now.reads - earlier.hits - earlier.reads, 0),
        max(now.reads - earlier.reads, 0),
        case.observed_s,
        max(ended - ended_transactions(before), 0),
    )


def _of(counters: Counters, name: str) -> SlruCounters | None:
    return next((slru for slru in counters.slru if _LATER_NAMES.get(slru.name, slru.name) == name), None)
