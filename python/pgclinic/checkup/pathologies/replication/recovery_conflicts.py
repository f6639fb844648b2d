"""Queries on a standby that recovery cancels."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot_counters import DatabaseCounters

#: One or two canceled queries are those of a migration.
CONFLICTS_MIN = 3
#: An application that fails more often than once in an hour is seen by its users.
COSTLY_PER_S = 1 / 3600


def _detect(case: Case) -> Iterator[Seen]:
    if not case.snapshot.server.in_recovery:
        return
    for database in case.snapshot.counters.databases:
        conflicts = database.conflicts or 0
        rate = conflicts / case.since_s(database.reset_epoch_s)
        if conflicts < CONFLICTS_MIN:
            continue
        yield Seen(
            subject=f"database {database.name}",
            severity=Severity.WARNING if rate >= COSTLY_PER_S else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.DATABASE,
                    name=database.name,
                    facts=(
                        Fact(name="queries canceled by recovery", value=conflicts, unit=Unit.COUNT),
                        Fact(name="by locks", value=database.conflicts_lock or 0, unit=Unit.COUNT),
                        Fact(
                            name="by rows removed on the primary",
                            value=database.conflicts_snapshot or 0,
                            unit=Unit.COUNT,
                        ),
                        Fact(name="by buffer pins", value=database.conflicts_buffer_pin or 0, unit=Unit.COUNT),
                    ),
                ),
                setting_evidence(case, "max_standby_streaming_delay"),
                setting_evidence(case, "hot_standby_feedback"),
            ),
            cost=Cost(
                kind=CostKind.FAILURES_PER_S,
                value=rate,
                basis=(Fact(name="queries canceled", value=conflicts, unit=Unit.COUNT),),
            ),
            treatments=_treatments(case, database),
        )


def _treatments(case: Case, one: DatabaseCounters) -> tuple[Treatment, ...]:
    """Feedback keeps rows, and helps against nothing else."""
    wait = change_settings(
        case,
        {"max_standby_streaming_delay": "5min"},
        title="let recovery wait longer for queries",
        risk="replay stands still meanwhile: the standby is up to five minutes behind",
    )
    feedback = change_settings(
        case,
        {"hot_standby_feedback": "on"},
        title="let the primary keep rows that queries here still see",
        risk="a long query here holds the xmin horizon of the primary: dead rows stay there",
    )
    ddl = Treatment(
        title="run DDL, and VACUUM that truncates tables (vacuum_truncate), when the standby has no long queries",
        applies=Applies.APPLICATION,
        risk="none",
        prevents=True,
    )
    by_rows = (one.conflicts_snapshot or 0) > (one.conflicts_lock or 0)
    return (feedback, wait) if by_rows and not case.is_on("hot_standby_feedback") else (wait, ddl)


PATHOLOGY = Pathology(
    name="recovery-conflicts",
    title="recovery cancels queries on the standby",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="WAL removes rows or takes locks that a query on the standby still needs. Recovery waits up to "
    "max_standby_streaming_delay, and then cancels the query.",
    threshold="Three canceled queries since statistics were reset; a warning at more than one in an hour, which users "
    "of the application notice.",
    references=(
        "https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-CONFLICTS-VIEW",
    ),
    detect=_detect,
    needs=("counters.databases", "settings"),
    no_proof="it needs the primary's load and the standby's queries at once",
)
