"""Transactions that lock the same rows in different orders."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
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

#: One is an accident, and two may be the same one.
COUNT_MIN = 3
#: A deadlock in an hour is met in any application that retries.
RATE_MIN_PER_S = 1 / 3600
#: One of a hundred seconds of a session is spent waiting for the deadlock check.
STALLED_MIN = 0.01
#: After a day most of what was counted is of this run of the server.
KNOWN_S = 86_400.0
_TREATMENTS = (
    Treatment(
        title="lock rows in one order: SELECT FOR UPDATE with ORDER BY the key before the updates",
        applies=Applies.APPLICATION,
        risk="the rows stay locked a little longer",
    ),
    Treatment(
        title="repeat a transaction that fails with SQLSTATE 40P01",
        applies=Applies.APPLICATION,
        risk="none, if the transaction is repeated as a whole",
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    for database in case.snapshot.counters.databases:
        count = database.deadlocks or 0
        seconds = case.since_s(database.reset_epoch_s)
        rate = count / seconds
        if count < COUNT_MIN or rate < RATE_MIN_PER_S:
            continue
        timeout_s = case.number("deadlock_timeout") or 1.0
        stalled = rate * timeout_s
        recent = _is_recent(case, database)
        yield Seen(
            subject=f"database {database.name}",
            severity=Severity.WARNING if recent and stalled >= STALLED_MIN else Severity.NOTICE,
            confidence=Confidence.CERTAIN if recent else Confidence.POSSIBLE,
            evidence=(
                Evidence(
                    kind=SubjectKind.DATABASE,
                    name=database.name,
                    facts=(
                        Fact(name="deadlocks", value=count, unit=Unit.COUNT),
                        Fact(name="counted for", value=seconds, unit=Unit.SECONDS),
                        Fact(name="deadlock_timeout", value=case.shown("deadlock_timeout")),
                    ),
                ),
            ),
            cost=Cost(
                kind=CostKind.FAILURES_PER_S,
                value=rate,
                basis=(
                    Fact(name="deadlocks", value=count, unit=Unit.COUNT),
                    Fact(name="waited for in each second", value=stalled, unit=Unit.SECONDS),
                ),
            ),
            treatments=_TREATMENTS,
        )


def _is_recent(case: Case, database: DatabaseCounters) -> bool:
    """Whether they are of the time since the server started: counters outlast a restart, and their age is not known."""
    server = case.snapshot.server
    up_s = server.clock_epoch_s - server.started_epoch_s
    if (database.reset_epoch_s or 0.0) >= server.started_epoch_s or up_s >= KNOWN_S:
        return True
    before = case.snapshot.counters_before
    earlier = next((one for one in before.databases if one.name == database.name), None) if before else None
    return earlier is not None and (database.deadlocks or 0) > (earlier.deadlocks or 0)


PATHOLOGY = Pathology(
    name="deadlocks",
    title="transactions deadlock",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="Two transactions that lock the same rows in different orders wait for each other until deadlock_timeout "
    "is over; then one is rolled back with all it did. Everybody behind their locks waits as long.",
    threshold="Three deadlocks and one an hour: fewer are met in any application that repeats what failed. A warning "
    "if sessions spend 1 % of a second in each second until the deadlock check.",
    references=(
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-DEADLOCKS",
        "https://www.postgresql.org/docs/current/runtime-config-locks.html#GUC-DEADLOCK-TIMEOUT",
    ),
    detect=_detect,
    explains=("row-lock-queue", "transactions-rolled-back"),
    needs=("counters.databases",),
    no_proof="the treatment is a change of the application, which a replay of its statements cannot make",
)
