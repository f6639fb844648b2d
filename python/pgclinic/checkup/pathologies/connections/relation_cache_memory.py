"""Statements that touch hundreds of relations fill the caches of each connection."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import session_evidence
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

#: 500 relations are 3 MB in each backend that touches them, twice what it has otherwise.
RELATIONS_MIN = 500
#: Measured on 18: contexts of a backend grew from 1.5 to 14 MB with 1,000 partitions and their 1,000 indexes.
BYTES_PER_RELATION = 6_250
#: Memory of connections that could cache a good part of the tables.
WARNING_BYTES = 1 << 30


def _detect(case: Case) -> Iterator[Seen]:
    most, pid = _most_relations(case)
    if most < RELATIONS_MIN:
        return
    connections = max(len(case.clients), 1)
    memory = most * BYTES_PER_RELATION * connections
    session = case.session(pid)
    yield Seen(
        subject="statements that touch many relations",
        severity=Severity.WARNING if memory >= WARNING_BYTES else Severity.NOTICE,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name="connections",
                facts=(
                    Fact(name="relations that one process locked at once", value=most, unit=Unit.COUNT),
                    Fact(name="connections of clients", value=connections, unit=Unit.COUNT),
                ),
            ),
            *((session_evidence(session),) if session is not None else ()),
        ),
        cost=Cost(
            kind=CostKind.MEMORY_BYTES,
            value=memory,
            basis=(
                Fact(name="relations", value=most, unit=Unit.COUNT),
                Fact(name="connections", value=connections, unit=Unit.COUNT),
                Fact(name="for each relation and connection", value=BYTES_PER_RELATION, unit=Unit.BYTES),
            ),
        ),
        treatments=(
            Treatment(
                title="let statements touch fewer relations: the partition key in the WHERE clause, larger partitions",
                applies=Applies.APPLICATION,
                risk="none",
            ),
            Treatment(
                title="replace connections from time to time (server_lifetime of PgBouncer); DISCARD ALL keeps this "
                "memory",
                applies=Applies.APPLICATION,
                risk="each new connection fills its caches again",
                prevents=True,
            ),
        ),
    )


def _most_relations(case: Case) -> tuple[int, int | None]:
    """The most relations that one process had locked at a time, now or in a sample, and its pid."""
    seen = [(count.relations, count.pid) for count in case.snapshot.lock_counts]
    for sample in case.snapshot.samples.of("lock_counts"):
        for row in sample.rows:
            relations, pid = row.get("relations"), row.get("pid")
            if isinstance(relations, int):
                seen.append((relations, pid if isinstance(pid, int) else None))
    return max(seen, key=lambda one: one[0], default=(0, None))


PATHOLOGY = Pathology(
    name="relation-cache-memory",
    title="each connection caches hundreds of relations",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="A backend keeps the catalog entries of every relation that it has ever touched, and gives none of them "
    "back before it ends. With many partitions that is many times its other memory, for each connection.",
    threshold="500 relations in one process: 3 MB, twice what a backend has otherwise; a warning from 1 GB over all "
    "connections.",
    references=(
        "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES",
        "https://www.postgresql.org/docs/current/view-pg-backend-memory-contexts.html",
    ),
    detect=_detect,
    explains=("memory-pressure", "out-of-memory", "group-memory-near-limit"),
    needs=("lock_counts",),
    proof=ProofOn.STUDY,
    study="memory-contexts",
)
