"""What holds the xmin horizon far enough back to cost something, by kind of holder."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.hold_claim import hold_claim
from pgclinic.checkup.horizon import hold_cost, hurt_tables
from pgclinic.checkup.pathology import Seen
from pgclinic.checkup.transactions import transactions_per_s
from pgclinic.model.finding import Evidence, Fact, Severity, Treatment, Unit
from pgclinic.model.snapshot import HorizonHolding

#: Dead rows of a minute of a calm server: what is kept below that fits a few pages of the hottest rows.
XIDS_MIN, HELD_S_MIN = 5_000, 2.0
XIDS_CRITICAL = 1_000_000
#: A standby reports its horizon once in wal_receiver_status_interval, 10 s by default: three reports may be late.
REPORTS_S = 30.0
THRESHOLD = (
    "5,000 transactions behind: fewer versions of the hottest rows fit a few pages, and a lookup costs no more than "
    "the noise; measured on a table of 100 hot rows."
)
EXPLAINS = ("dead-rows", "autovacuum-without-effect", "hot-updates-lost", "table-bloat", "index-bloat")
VACUUM_MANUAL = "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY"


def far_holds(case: Case, kind: str | None = None) -> Iterator[HorizonHolding]:
    """Holds of this kind, or of any, that keep rows of this database, far enough back and for long enough."""
    for hold in case.snapshot.horizon:
        lasts = hold.held_s is None or hold.held_s >= HELD_S_MIN
        if kind in (None, hold.kind) and hold.is_here and lasts and (hold.xmin_age or 0) >= XIDS_MIN:
            yield hold


def is_late(case: Case, hold: HorizonHolding) -> bool:
    """Whether a standby that reports now and then would have reported a newer horizon, had it one."""
    return (hold.xmin_age or 0) >= REPORTS_S * transactions_per_s(case)


def seen_hold(
    case: Case, hold: HorizonHolding, *, subject: str, holder: Evidence, treatments: tuple[Treatment, ...]
) -> Seen:
    """The sighting of one hold, with the tables that it hurts. One that hurts none yet is a notice."""
    hurt = hurt_tables(case)
    far = (hold.xmin_age or 0) >= XIDS_CRITICAL
    return Seen(
        subject=subject,
        severity=_severity(far, bool(hurt)),
        evidence=(holder, *hurt),
        tables=tuple(one.name for one in hurt),
        cost=hold_cost(case),
        claim=hold_claim(case, hold, far_holds(case)),
        treatments=treatments,
    )


def behind(hold: HorizonHolding) -> Fact:
    return Fact(name="xmin behind", value=hold.xmin_age or 0, unit=Unit.TRANSACTIONS)


def _severity(far: bool, hurts: bool) -> Severity:
    if far:
        return Severity.CRITICAL if hurts else Severity.WARNING
    return Severity.WARNING if hurts else Severity.NOTICE
