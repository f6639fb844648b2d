"""Hundreds of connections that do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import end_idle, groups_of, idle_sessions, pooler
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings
from pgclinic.model.finding import Area, Cost, CostKind, Evidence, Fact, Role, Severity, SubjectKind, Unit

#: Memory of 100 idle connections is 150 MB and more; the snapshots of 13 take 1 % longer.
IDLE_MIN = 100
#: A pool in use comes back to its connections sooner.
IDLE_S = 2.0
#: Before 14 each snapshot looks at every connection: 2,000 idle ones cost 24 % of the throughput, so 500 cost 6 %.
IDLE_COSTLY = 500
#: RssAnon of an idle backend that has run one statement, measured on 13 to 18: 1.4 to 1.8 MB.
BACKEND_BYTES = 1_500_000
#: A tenth of the memory would hold as much of the tables.
MEMORY_SHARE = 0.1
_SNAPSHOTS_SCALE_SINCE = 14


def _detect(case: Case) -> Iterator[Seen]:
    idle = [session for session in idle_sessions(case.clients) if (session.state_s or 0.0) >= IDLE_S]
    if len(idle) < IDLE_MIN or len(idle) < 0.8 * len(case.clients):
        return
    memory = _memory(case, {one.pid for one in idle}) or len(idle) * BACKEND_BYTES
    host_share = memory / case.host.memory_bytes if case.host is not None and case.host.memory_bytes else 0.0
    slows = case.major < _SNAPSHOTS_SCALE_SINCE and len(idle) >= IDLE_COSTLY
    timeout = change_settings(
        case,
        {"idle_session_timeout": "10min"},
        title="end sessions that are idle for ten minutes",
        risk="a pool has to replace connections that it keeps for longer",
        prevents=True,
    )
    yield Seen(
        subject="idle connections",
        severity=Severity.WARNING if slows or host_share >= MEMORY_SHARE else Severity.NOTICE,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name="connections",
                facts=(
                    Fact(name="connections of clients", value=len(case.clients), unit=Unit.COUNT),
                    Fact(name="idle for more than 2 s", value=len(idle), unit=Unit.COUNT),
                    Fact(name="longest idle", value=idle[0].state_s or 0.0, unit=Unit.SECONDS),
                ),
            ),
            *groups_of(idle),
        ),
        cost=Cost(
            kind=CostKind.MEMORY_BYTES,
            value=memory,
            basis=(Fact(name="idle connections", value=len(idle), unit=Unit.COUNT),),
        ),
        treatments=(
            end_idle(idle),
            pooler(),
            *((timeout,) if "idle_session_timeout" in case.settings else ()),
        ),
    )


def _memory(case: Case, pids: set[int]) -> int | None:
    """What the kernel counts for these processes, where it can be seen."""
    if case.host is None:
        return None
    return sum(process.memory_bytes or 0 for process in case.host.processes if process.pid in pids) or None


PATHOLOGY = Pathology(
    name="idle-connections",
    title="many connections are idle",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Each connection is a process with memory and catalog caches of its own, which it keeps while it is "
    "idle. Before 14 each snapshot also looks at every connection, idle or not.",
    threshold="100 sessions idle for more than 2 s, four fifths of all: fewer take less than 150 MB. A warning "
    "is given from 500 before 14, where the snapshots cost 6 % of the throughput, or from a tenth of the memory on.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-SESSION-TIMEOUT",
        "https://www.postgresql.org/docs/14/release-14.html",
    ),
    detect=_detect,
    explains=("connections-near-limit", "memory-pressure", "page-tables-large", "group-memory-near-limit"),
    needs=("sessions",),
    proof=ProofOn.STUDY,
    study="connection-scaling",
    claims=("idle-ones-slow-13-down", "idle-ones-do-not-slow-18-down"),
)
