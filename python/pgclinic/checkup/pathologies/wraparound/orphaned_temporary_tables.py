"""Temporary tables of sessions that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import TemporaryTable
from pgclinic.sql.quoting import qualified

_NAMED = 10


def _detect(case: Case) -> Iterator[Seen]:
    left = [table for table in case.snapshot.temporary_tables if table.is_orphaned]
    if not left:
        return
    forced = case.number("autovacuum_freeze_max_age") or 200_000_000.0
    oldest = max(one.xid_age for one in left)
    yield Seen(
        subject="temporary tables",
        severity=Severity.WARNING if oldest > forced else Severity.NOTICE,
        evidence=tuple(_evidence(case, one) for one in left[:_NAMED]),
        treatments=(
            Treatment(
                title="drop them, as a superuser",
                applies=Applies.STATEMENT,
                sql=tuple(f"drop table {qualified(one.schema, one.name)}" for one in left),
                lock="AccessExclusiveLock on tables that nobody can use",
                risk="none: their session is gone, and no other can read them",
            ),
        ),
    )


def _evidence(case: Case, one: TemporaryTable) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=f"{one.schema}.{one.name}",
        facts=(
            Fact(name="age of its oldest row", value=one.xid_age, unit=Unit.TRANSACTIONS),
            Fact(name="size", value=one.pages * case.snapshot.server.block_bytes, unit=Unit.BYTES),
        ),
    )


PATHOLOGY = Pathology(
    name="orphaned-temporary-tables",
    title="temporary tables of lost sessions are still there",
    area=Area.WRAPAROUND,
    role=Role.CAUSE,
    mechanism="When a server crashes, temporary tables of its sessions stay in the catalogs until autovacuum, or a "
    "session that gets the same number, drops them. Nobody vacuums them meanwhile, so they keep the age of the "
    "database.",
    threshold="Any is one too many, as autovacuum drops them within its next run: that they are here says that none "
    "came. A warning is one that is older than autovacuum_freeze_max_age, and so keeps forced vacuums running.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        "https://www.postgresql.org/docs/current/sql-createtable.html",
    ),
    detect=_detect,
    explains=("wraparound-near", "multixact-wraparound-near", "forced-vacuums"),
    needs=("temporary_tables",),
    since=16,
    no_proof="the cure is certain: they are gone",
)
