"""Clients that connect anew for each transaction."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import pooler
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Unit
from pgclinic.model.snapshot_counters import DatabaseCounters

#: So few connections are those of tools and of a start.
SESSIONS_MIN, SESSIONS_MIN_OBSERVED = 100, 20
#: A session that runs more transactions than five pays its start back.
TRANSACTIONS_PER_SESSION = 5.0
#: A start takes 5 to 10 ms of CPU (87 connections a second filled two processors on 18): ten a second are 5 to 10 %.
COSTLY_PER_S = 10.0


def _detect(case: Case) -> Iterator[Seen]:
    before = case.snapshot.counters_before
    earlier = {database.oid: database for database in before.databases} if before is not None else {}
    for database in case.snapshot.counters.databases:
        seen = _seen(case, database, earlier.get(database.oid))
        if seen is not None:
            yield seen


def _seen(case: Case, now: DatabaseCounters, before: DatabaseCounters | None) -> Seen | None:
    observed = before is not None and before.sessions is not None and case.observed_s > 0
    # A pool that has just been filled opened many as well, and keeps them.
    sessions = (now.sessions or 0) - (now.sessions_now or 0)
    transactions = (now.commits or 0) + (now.rollbacks or 0)
    seconds, enough = case.since_s(now.reset_epoch_s), SESSIONS_MIN
    if observed and before is not None:
        sessions -= (before.sessions or 0) - (before.sessions_now or 0)
        transactions -= (before.commits or 0) + (before.rollbacks or 0)
        seconds, enough = case.observed_s, SESSIONS_MIN_OBSERVED
    if sessions < enough or transactions > TRANSACTIONS_PER_SESSION * sessions:
        return None
    rate = sessions / seconds
    return Seen(
        subject=f"database {now.name}",
        severity=Severity.WARNING if rate >= COSTLY_PER_S else Severity.NOTICE,
        confidence=Confidence.CERTAIN if observed else Confidence.LIKELY,
        evidence=(
            Evidence(
                kind=SubjectKind.DATABASE,
                name=now.name,
                facts=(
                    Fact(name="connections that ended", value=sessions, unit=Unit.COUNT),
                    Fact(name="connections a second", value=rate, unit=Unit.PER_S),
                    Fact(name="transactions for each", value=transactions / sessions, unit=Unit.RATIO),
                ),
            ),
        ),
        treatments=(pooler(),),
    )


PATHOLOGY = Pathology(
    name="connection-per-transaction",
    title="clients connect anew for each transaction",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Each connection starts a process, authenticates, and fills its catalog caches from nothing. That takes "
    "milliseconds of CPU, for transactions that take a fraction of one.",
    threshold="At least 100 connections (20 in an observation) that ended, with five transactions or fewer for each; "
    "a warning from ten a second on, which are 5 to 10 % of a processor at 5 to 10 ms each.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW",
        "https://www.pgbouncer.org/features.html",
    ),
    detect=_detect,
    explains=("cpu-saturated", "connections-near-limit", "connections-refused"),
    since=14,
    needs=("counters.databases",),
    no_proof="the remedy is a pool of connections on the client's side, which a lab does not have",
)
