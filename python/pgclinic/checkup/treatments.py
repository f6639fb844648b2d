"""Treatments that many pathologies share: settings that go back, sessions that end, tables that are vacuumed."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import SessionState, TableState
from pgclinic.sql.quoting import identifier, literal, qualified

_RELOADED = ("sighup", "user", "superuser", "superuser-backend", "backend")


def change_settings(
    case: Case, settings: dict[str, str], *, title: str, risk: str, prevents: bool = False
) -> Treatment:
    """New values for settings; whether a reload is enough follows from the server's own pg_settings."""
    contexts = [case.settings[name].context for name in settings if name in case.settings]
    reload = all(context in _RELOADED for context in contexts)
    return Treatment(
        title=title,
        applies=Applies.RELOAD if reload else Applies.RESTART,
        settings=settings,
        risk=risk,
        undo_settings={name: _before(case, name) for name in settings},
        prevents=prevents,
    )


def change_role_setting(
    case: Case, role: str, name: str, value: str, *, title: str, risk: str, prevents: bool = True
) -> Treatment:
    """A setting for new sessions of one role, in all databases; undone to what that role has now."""
    earlier = next(
        (
            setting.value
            for setting in case.snapshot.role_settings
            if (setting.role, setting.database, setting.name) == (role, None, name)
        ),
        None,
    )
    change = f"alter role {identifier(role)}"
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"{change} set {name} to {literal(value)}",),
        lock="none",
        risk=risk,
        undo=(f"{change} reset {name}" if earlier is None else f"{change} set {name} to {literal(earlier)}",),
        prevents=prevents,
    )


def setting_evidence(case: Case, name: str, *facts: Fact) -> Evidence:
    """A setting with its value, its default and where it was set."""
    found = case.settings[name]
    default = case.shown_default(name)
    return Evidence(
        kind=SubjectKind.SETTING,
        name=name,
        file=found.file,
        line=found.line,
        facts=(
            Fact(name="value", value=case.shown(name)),
            *((Fact(name="default", value=default),) if default is not None else ()),
            *((Fact(name="set by", value=found.source),) if found.file is None else ()),
            *facts,
        ),
    )


def session_evidence(session: SessionState, *facts: Fact) -> Evidence:
    """A session with who it is, what it does and since when."""
    words = [("application", session.application), ("role", session.user), ("client", session.client)]
    known = [Fact(name=name, value=value) for name, value in words if value]
    if session.state is not None:
        known.append(Fact(name="state", value=session.state))
    if session.state_s is not None:
        known.append(Fact(name="in this state for", value=session.state_s, unit=Unit.SECONDS))
    if session.transaction_s is not None:
        known.append(Fact(name="transaction open for", value=session.transaction_s, unit=Unit.SECONDS))
    known.extend(facts)
    if session.query:
        known.append(Fact(name="statement", value=session.query))
    return Evidence(kind=SubjectKind.SESSION, name=session_name(session), pid=session.pid, facts=tuple(known))


def session_name(session: SessionState) -> str:
    """session 4711 (report)"""
    who = session.application or session.user
    return f"session {session.pid}" + (f" ({who})" if who else "")


def end_session(pid: int, *, title: str, risk: str) -> Treatment:
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"select pg_terminate_backend({pid})",),
        lock="none",
        risk=risk,
    )


def cancel_query(pid: int, *, title: str, risk: str) -> Treatment:
    return Treatment(
        title=title, applies=Applies.STATEMENT, sql=(f"select pg_cancel_backend({pid})",), lock="none", risk=risk
    )


def vacuum(table: TableState, *, title: str, risk: str = "reads the whole table and its indexes once") -> Treatment:
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"vacuum {qualified(table.schema, table.name)}",),
        lock="ShareUpdateExclusiveLock: reads and writes go on",
        risk=risk,
    )


def analyze(table: TableState) -> Treatment:
    return Treatment(
        title="analyze the table",
        applies=Applies.STATEMENT,
        sql=(f"analyze {qualified(table.schema, table.name)}",),
        lock="ShareUpdateExclusiveLock: reads and writes go on",
        risk="reads a sample of the table; plans of statements on it may change",
    )


def _before(case: Case, name: str) -> str | None:
    """The value to go back to; None for one that no file or role has set."""
    found = case.settings.get(name)
    if found is None or found.source in ("default", "override"):
        return None
    return case.shown(name)
