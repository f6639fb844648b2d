"""A role or a database has nearly all connections that its own limit allows."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import NEAR_SHARE, connection_limit, end_idle, idle_sessions
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, Unit
from pgclinic.model.snapshot import SessionState

#: A limit of one is meant: a single worker that must not run twice.
LIMIT_MIN = 2


def _detect(case: Case) -> Iterator[Seen]:
    for role in case.snapshot.roles:
        # Superusers are not held to their limit.
        if not role.is_superuser and role.connections_max >= LIMIT_MIN:
            members = [client for client in case.clients if client.user == role.name]
            yield from _near("role", SubjectKind.ROLE, role.name, role.connections_max, members)
    for database in case.snapshot.counters.databases:
        if database.connections_max >= LIMIT_MIN:
            members = [client for client in case.clients if client.database == database.name]
            yield from _near("database", SubjectKind.DATABASE, database.name, database.connections_max, members)


def _near(kind: str, subject: SubjectKind, name: str, limit: int, members: list[SessionState]) -> Iterator[Seen]:
    if len(members) < NEAR_SHARE * limit:
        return
    idle = idle_sessions(members)
    yield Seen(
        subject=f"{kind} {name}",
        severity=Severity.WARNING if len(members) >= limit else Severity.NOTICE,
        evidence=(
            Evidence(
                kind=subject,
                name=name,
                facts=(
                    Fact(name="connections", value=len(members), unit=Unit.COUNT),
                    Fact(name="connection limit", value=limit, unit=Unit.COUNT),
                    Fact(name="idle", value=len(idle), unit=Unit.COUNT),
                ),
            ),
        ),
        treatments=(connection_limit(kind, name, 2 * limit, limit), *((end_idle(idle),) if idle else ())),
    )


PATHOLOGY = Pathology(
    name="role-limit-near",
    title="a connection limit of a role or a database is nearly reached",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="A role and a database may have a connection limit of their own below max_connections. When it is "
    "reached, each further connection of that role or to that database is refused, while the server has places left.",
    threshold="90 % of a limit of two or more is a notice, a limit that is reached is a warning: the next connection "
    "fails. A limit of one is taken as meant.",
    references=(
        "https://www.postgresql.org/docs/current/sql-alterrole.html",
        "https://www.postgresql.org/docs/current/sql-alterdatabase.html",
    ),
    detect=_detect,
    explains=("connections-refused",),
    needs=("roles", "sessions"),
    no_proof="a refused connection is certain and needs no measurement",
)
