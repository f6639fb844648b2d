"""How many connections a server, a database and a role may have, and how many of them are taken."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import SessionState
from pgclinic.sql.quoting import identifier

#: Below this share a tenth of the places is free: a pool of that size still gets its connections after a restart.
NEAR_SHARE = 0.9
#: Sessions that a statement ends by their pids; with more of them it would not be read.
_PIDS_MAX = 200


def places(case: Case) -> int:
    """Connections for ordinary roles: those that are reserved for superusers and others are not for them."""
    reserved = (case.number("superuser_reserved_connections") or 0) + (case.number("reserved_connections") or 0)
    return max(int((case.number("max_connections") or 0) - reserved), 0)


def connected(case: Case) -> list[SessionState]:
    """Sessions of clients that take a place. Of a role without rights background processes are hidden as well."""
    return [client for client in case.clients if client.database is not None]


def idle_sessions(sessions: Sequence[SessionState]) -> list[SessionState]:
    """The sessions outside of a transaction, the longest idle first."""
    idle = [session for session in sessions if session.state == "idle"]
    return sorted(idle, key=lambda one: one.state_s or 0.0, reverse=True)


def groups_of(sessions: Sequence[SessionState], count: int = 3) -> tuple[Evidence, ...]:
    """Who has the most connections: by role and application, with how many are idle."""
    found: dict[tuple[str, str], list[SessionState]] = {}
    for session in sessions:
        found.setdefault((session.user or "", session.application or ""), []).append(session)
    most = sorted(found.items(), key=lambda one: len(one[1]), reverse=True)[:count]
    return tuple(
        Evidence(
            kind=SubjectKind.ROLE,
            name=user or "roles that are hidden",
            facts=(
                *((Fact(name="application", value=application),) if application else ()),
                Fact(name="connections", value=len(members), unit=Unit.COUNT),
                Fact(name="idle", value=len(idle_sessions(members)), unit=Unit.COUNT),
            ),
        )
        for (user, application), members in most
    )


def end_idle(sessions: Sequence[SessionState]) -> Treatment:
    """Ends these sessions unless they work again meanwhile."""
    pids = ", ".join(str(session.pid) for session in sessions[:_PIDS_MAX])
    return Treatment(
        title=f"end {len(sessions[:_PIDS_MAX])} idle sessions",
        applies=Applies.STATEMENT,
        sql=(f"select pg_terminate_backend(pid) from pg_stat_activity where pid in ({pids}) and state = 'idle'",),
        lock="none",
        risk="an application that does not reconnect sees a lost connection; a pool opens new ones",
    )


def pooler() -> Treatment:
    return Treatment(
        title="let clients share connections: a pool in the application, or PgBouncer in transaction mode",
        applies=Applies.APPLICATION,
        risk="session state (SET, temporary tables, advisory locks) does not survive a transaction in this mode",
        prevents=True,
    )


def connection_limit(kind: str, name: str, limit: int, before: int) -> Treatment:
    """ALTER ROLE or ALTER DATABASE with another limit."""
    return Treatment(
        title=f"raise the limit of the {kind}",
        applies=Applies.STATEMENT,
        sql=(f"alter {kind} {identifier(name)} connection limit {limit}",),
        undo=(f"alter {kind} {identifier(name)} connection limit {before}",),
        lock="none",
        risk="more sessions may work at once, and share the processors and max_connections",
    )
