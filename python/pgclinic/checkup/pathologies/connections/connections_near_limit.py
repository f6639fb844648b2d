"""Nearly all connections are taken."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import (
    NEAR_SHARE,
    connected,
    end_idle,
    groups_of,
    idle_sessions,
    places,
    pooler,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit


def _detect(case: Case) -> Iterator[Seen]:
    limit, clients = places(case), connected(case)
    taken = len(clients)
    if not limit or taken < NEAR_SHARE * limit:
        return
    idle = idle_sessions(clients)
    wider = change_settings(
        case,
        {"max_connections": str(2 * int(case.number("max_connections") or 0))},
        title="allow twice as many connections",
        risk="each takes about 2 MB and more as it works; the lock table and, before 14, each snapshot grow with it",
    )
    yield Seen(
        subject="max_connections",
        severity=Severity.CRITICAL if taken >= limit else Severity.WARNING,
        evidence=(
            setting_evidence(
                case,
                "max_connections",
                Fact(name="connections of clients", value=taken, unit=Unit.COUNT),
                Fact(name="places for ordinary roles", value=limit, unit=Unit.COUNT),
                Fact(name="idle", value=len(idle), unit=Unit.COUNT),
            ),
            *groups_of(clients),
        ),
        treatments=(*((end_idle(idle[: max(len(idle) // 2, 1)]),) if idle else ()), wider, pooler()),
    )


PATHOLOGY = Pathology(
    name="connections-near-limit",
    title="nearly all connections are taken",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="The server has max_connections places, of which some are reserved. When all others are taken, each new "
    'connection fails with "sorry, too many clients already", and the application fails with it.',
    threshold="90 % of the places that ordinary roles may take: below it a tenth is free, which is room for an "
    "application of that size that reconnects after a restart.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-MAX-CONNECTIONS",
        "https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-RESERVED-CONNECTIONS",
    ),
    detect=_detect,
    explains=("connections-refused",),
    needs=(),
    no_proof="a refused connection is certain and needs no measurement",
)
