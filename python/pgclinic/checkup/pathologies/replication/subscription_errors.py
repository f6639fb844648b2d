"""A subscription that fails and tries again."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
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
from pgclinic.sql.quoting import identifier

#: One error may be of a connection that was lost, and is gone at the next try.
ERRORS_MIN = 2
#: One a day is too seldom to keep WAL or to delay anything.
COSTLY_PER_S = 1 / 86_400


def _detect(case: Case) -> Iterator[Seen]:
    for subscription in case.snapshot.counters.subscriptions:
        errors = subscription.apply_errors + subscription.copy_errors
        if errors < ERRORS_MIN:
            continue
        rate = errors / case.since_s(subscription.reset_epoch_s)
        yield Seen(
            subject=f"subscription {subscription.name}",
            severity=Severity.WARNING if rate >= COSTLY_PER_S else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.SERVER,
                    name=f"subscription {subscription.name}",
                    facts=(
                        Fact(name="changes that failed", value=subscription.apply_errors, unit=Unit.COUNT),
                        Fact(name="copies of tables that failed", value=subscription.copy_errors, unit=Unit.COUNT),
                    ),
                ),
            ),
            cost=Cost(
                kind=CostKind.FAILURES_PER_S,
                value=rate,
                basis=(Fact(name="errors", value=errors, unit=Unit.COUNT),),
            ),
            treatments=(
                Treatment(
                    title="remove what conflicts: the log of this server names the row and the LSN; or skip that "
                    "transaction by ALTER SUBSCRIPTION ... SKIP (lsn = ...)",
                    applies=Applies.APPLICATION,
                    risk="a skipped transaction is missing here for ever",
                ),
                Treatment(
                    title="stop at the first error in place of trying again",
                    applies=Applies.STATEMENT,
                    sql=(f"alter subscription {identifier(subscription.name)} set (disable_on_error = true)",),
                    undo=(f"alter subscription {identifier(subscription.name)} set (disable_on_error = false)",),
                    lock="none on tables of users",
                    risk="it stays disabled until somebody enables it, and its slot keeps WAL on the publisher",
                    prevents=True,
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="subscription-errors",
    title="a subscription fails again and again",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="A change from the publisher conflicts with a row or a table here. The worker fails and starts again at "
    "the same transaction, so nothing after it arrives, and the publisher keeps all WAL since then.",
    threshold="Two errors since statistics were reset, as one may be of a lost connection; a warning from one a day "
    "on.",
    references=(
        "https://www.postgresql.org/docs/current/logical-replication-conflicts.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-SUBSCRIPTION-STATS",
    ),
    detect=_detect,
    explains=("transactions-rolled-back",),
    since=15,
    needs=("counters.subscriptions",),
    no_proof="a twin has no publisher",
)
