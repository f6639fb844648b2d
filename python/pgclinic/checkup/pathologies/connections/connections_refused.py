"""Clients that got no connection."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import places, pooler
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence, message_facts, messages
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

_BEGINNINGS = ("sorry, too many clients", "remaining connection slots", "too many connections for")


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None or not log.connections_refused:
        return
    limit = int(case.number("max_connections") or 0)
    yield Seen(
        subject="server",
        severity=Severity.WARNING,
        evidence=(
            log_evidence(
                log,
                Fact(name="connections refused", value=log.connections_refused, unit=Unit.COUNT),
                *message_facts(messages(log, *_BEGINNINGS)),
            ),
            setting_evidence(
                case,
                "max_connections",
                Fact(name="places for ordinary roles", value=places(case), unit=Unit.COUNT),
                Fact(name="connections now", value=len(case.clients), unit=Unit.COUNT),
            ),
        ),
        cost=Cost(
            kind=CostKind.FAILURES_PER_S,
            value=log.connections_refused / max(log.seconds, 1.0),
            basis=(Fact(name="connections refused", value=log.connections_refused, unit=Unit.COUNT),),
        ),
        treatments=(
            pooler(),
            change_settings(
                case,
                {"max_connections": str(2 * limit)},
                title="allow twice as many connections",
                risk="each takes about 2 MB and more as it works",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="connections-refused",
    title="connections were refused",
    area=Area.CONNECTIONS,
    role=Role.SYMPTOM,
    mechanism="All places were taken when these clients connected: those of max_connections, of a role or of a "
    "database. Each refused connection is a request of the application that failed.",
    threshold="None: a server whose pools fit into its limits never refuses a connection.",
    references=("https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-MAX-CONNECTIONS",),
    detect=_detect,
    needs=("log",),
    no_proof="an error in the log is certain and needs no measurement",
)
