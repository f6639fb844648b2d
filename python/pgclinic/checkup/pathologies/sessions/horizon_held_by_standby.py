"""A query on a standby that feeds its horizon back keeps dead rows alive on the primary."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.holds import EXPLAINS, THRESHOLD, VACUUM_MANUAL, behind, far_holds, is_late, seen_hold
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, SubjectKind, Treatment
from pgclinic.model.snapshot import HorizonHolding

_TREATMENTS = (
    Treatment(
        title="on the standby, cancel the oldest query or end the oldest transaction",
        applies=Applies.APPLICATION,
        risk="its result is lost; in pg_stat_activity of the standby it is the one with the oldest backend_xmin",
    ),
    Treatment(
        title="on the standby, turn hot_standby_feedback off",
        applies=Applies.APPLICATION,
        risk="queries there that run for longer than max_standby_streaming_delay are cancelled when replay needs it",
        prevents=True,
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    # A standby with a slot has its horizon in the slot, one without in its walsender.
    active = {slot.name for slot in case.snapshot.slots if slot.active}
    for hold in (*far_holds(case, "standby"), *far_holds(case, "slot")):
        if not is_late(case, hold) or (hold.kind == "slot" and hold.holder not in active):
            continue
        standby = _standby(case, hold)
        yield seen_hold(case, hold, subject=f"standby {standby.name}", holder=standby, treatments=_TREATMENTS)


def _standby(case: Case, hold: HorizonHolding) -> Evidence:
    found = next((standby for standby in case.snapshot.standbys if standby.pid == hold.pid), None)
    name = (found.application if found is not None else None) or hold.holder
    words = [("client", found.client), ("state", found.state)] if found is not None else []
    slot = [("slot", hold.holder)] if hold.kind == "slot" else []
    return Evidence(
        kind=SubjectKind.STANDBY,
        name=name,
        pid=hold.pid,
        facts=(*(Fact(name=key, value=value) for key, value in (*words, *slot) if value), behind(hold)),
    )


PATHOLOGY = Pathology(
    name="horizon-held-by-standby",
    title="a query on a standby holds the xmin horizon",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="With hot_standby_feedback a standby reports the oldest snapshot of its queries, and the primary keeps "
    "every row version that is newer. A report on the standby thus slows lookups and bloats tables on the primary.",
    threshold=THRESHOLD + " With an observation, also 30 s of transactions: a standby reports every 10 s.",
    references=(
        VACUUM_MANUAL,
        "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-HOT-STANDBY-FEEDBACK",
        "https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT",
    ),
    detect=_detect,
    explains=EXPLAINS,
    needs=("horizon", "standbys", "slots"),
    proof=ProofOn.STUDY,
    study="global-counters",
)
