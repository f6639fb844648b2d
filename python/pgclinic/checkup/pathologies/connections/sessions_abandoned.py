"""Clients that go away without a word."""

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
from pgclinic.settings.units import amount_of

#: A laptop that is closed and a deployment that kills its processes lose a few.
ABANDONED_MIN = 10
#: One session in twenty ends this way.
ABANDONED_SHARE = 0.05
#: Each may hold locks and the horizon for hours: one an hour is one at any moment.
COSTLY_PER_S = 1 / 3600
#: Unset keepalives are those of the kernel: two hours.
KEEPALIVE_MAX_S = 600.0


def _detect(case: Case) -> Iterator[Seen]:
    for database in case.snapshot.counters.databases:
        lost, sessions = database.sessions_abandoned or 0, database.sessions or 0
        if lost < ABANDONED_MIN or lost < ABANDONED_SHARE * sessions:
            continue
        rate = lost / case.since_s(database.reset_epoch_s)
        idle_s = _keepalive_s(case)
        slow = not 0 < idle_s <= KEEPALIVE_MAX_S
        yield Seen(
            subject=f"database {database.name}",
            severity=Severity.WARNING if rate >= COSTLY_PER_S and slow else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.DATABASE,
                    name=database.name,
                    facts=(
                        Fact(name="sessions abandoned by their clients", value=lost, unit=Unit.COUNT),
                        Fact(name="sessions", value=sessions, unit=Unit.COUNT),
                        Fact(name="share", value=lost / max(sessions, 1), unit=Unit.SHARE),
                    ),
                ),
                setting_evidence(case, "tcp_keepalives_idle", Fact(name="configured", value=idle_s, unit=Unit.SECONDS)),
            ),
            cost=Cost(
                kind=CostKind.FAILURES_PER_S,
                value=rate,
                basis=(Fact(name="sessions abandoned", value=lost, unit=Unit.COUNT),),
            ),
            treatments=_treatments(case, slow=slow),
        )


def _keepalive_s(case: Case) -> float:
    """As it is configured: over a socket of the file system its value reads as 0."""
    found = case.settings.get("tcp_keepalives_idle")
    return amount_of(found.reset_value or "", found.unit) or 0.0 if found is not None else 0.0


def _treatments(case: Case, *, slow: bool) -> tuple[Treatment, ...]:
    close = Treatment(
        title="close connections in the application before it ends; give its pool and its deployment the time for it",
        applies=Applies.APPLICATION,
        risk="none",
    )
    if not slow:
        return (close,)
    settings = {"tcp_keepalives_idle": "60", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "6"}
    return (
        change_settings(
            case,
            settings | ({"client_connection_check_interval": "10s"} if case.major >= 14 else {}),
            title="notice lost clients within two minutes",
            risk="a client behind a network that is away for longer loses its connection",
        ),
        close,
    )


PATHOLOGY = Pathology(
    name="sessions-abandoned",
    title="clients leave without ending their sessions",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="A client that crashes, or loses its network, does not end its session. Until the server "
    "notices, after two hours of silence by default, an open transaction keeps its locks and the horizon.",
    threshold="Ten sessions and 5 % of all; a warning where it is more than one an hour and keepalives are slower "
    "than ten minutes, as then such a session is there at any moment.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW",
        "https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-TCP-KEEPALIVES-IDLE",
    ),
    detect=_detect,
    explains=("open-transaction-idle",),
    since=14,
    needs=("counters.databases", "settings"),
    no_proof="clients of a lab are not lost",
)
