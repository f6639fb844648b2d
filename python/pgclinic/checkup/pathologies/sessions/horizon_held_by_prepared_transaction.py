"""A prepared transaction, which belongs to no session, keeps dead rows alive."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.holds import EXPLAINS, THRESHOLD, VACUUM_MANUAL, behind, far_holds, seen_hold
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.prepared import prepared_evidence, roll_back_prepared
from pgclinic.model.finding import Area, Role


def _detect(case: Case) -> Iterator[Seen]:
    prepared = {transaction.name: transaction for transaction in case.snapshot.prepared_transactions}
    for hold in far_holds(case, "prepared"):
        if hold.holder not in prepared:
            continue
        yield seen_hold(
            case,
            hold,
            subject=f"prepared transaction {hold.holder}",
            holder=prepared_evidence(prepared[hold.holder], behind(hold)),
            treatments=(roll_back_prepared(prepared[hold.holder]),),
        )


PATHOLOGY = Pathology(
    name="horizon-held-by-prepared-transaction",
    title="a prepared transaction holds the xmin horizon",
    area=Area.SESSIONS,
    role=Role.CAUSE,
    mechanism="A prepared transaction survives its session and even a restart, and stops pruning and VACUUM from "
    "removing every row version that is newer. It has no row in pg_stat_activity, so that no session is to blame.",
    threshold=THRESHOLD,
    references=(
        VACUUM_MANUAL,
        "https://www.postgresql.org/docs/current/view-pg-prepared-xacts.html",
        "https://www.postgresql.org/docs/current/sql-prepare-transaction.html",
    ),
    detect=_detect,
    explains=EXPLAINS,
    needs=("horizon", "prepared_transactions"),
    proof=ProofOn.STUDY,
    study="global-counters",
)
