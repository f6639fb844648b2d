"""A session that never ends has temporary tables that nobody else can freeze."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import end_session, session_evidence, session_name, setting_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import TemporaryTable
from pgclinic.sql.quoting import qualified

_LIMIT = "autovacuum_freeze_max_age"
_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    limit = case.number(_LIMIT) or 200_000_000.0
    old: dict[int, list[TemporaryTable]] = {}
    for table in case.snapshot.temporary_tables:
        if table.pid is not None and table.xid_age > limit:
            old.setdefault(table.pid, []).append(table)
    for pid, tables in old.items():
        session = case.session(pid)
        if session is None:
            continue
        yield Seen(
            subject=session_name(session),
            severity=Severity.WARNING,
            evidence=(
                session_evidence(session),
                *(_evidence(table) for table in tables[:_NAMED]),
                setting_evidence(case, _LIMIT),
            ),
            treatments=(
                end_session(
                    pid,
                    title="end the session",
                    risk="its transaction is rolled back, its temporary tables are gone, and the application sees a "
                    "lost connection",
                ),
                Treatment(
                    title="let the application freeze its temporary tables, or drop them after use: "
                    + ", ".join(f"vacuum (freeze) {qualified(table.schema, table.name)}" for table in tables[:_NAMED]),
                    applies=Applies.APPLICATION,
                    prevents=True,
                ),
            ),
        )


def _evidence(one: TemporaryTable) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=f"{one.schema}.{one.name}",
        pid=one.pid,
        facts=(Fact(name="age of its oldest row", value=one.xid_age, unit=Unit.TRANSACTIONS),),
    )


PATHOLOGY = Pathology(
    name="old-temporary-tables",
    title="temporary tables of a session are never frozen",
    area=Area.WRAPAROUND,
    role=Role.CAUSE,
    mechanism="Autovacuum cannot vacuum the temporary tables of another session, so only that session can freeze "
    "them. As long as it does not, the age of the database grows, whatever else is vacuumed.",
    threshold="Older than autovacuum_freeze_max_age: from there on autovacuum starts a worker for the database again "
    "and again, and none of them can lower its age.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        "https://www.postgresql.org/docs/current/sql-createtable.html",
    ),
    detect=_detect,
    explains=("wraparound-near", "multixact-wraparound-near", "forced-vacuums"),
    needs=("temporary_tables", "sessions"),
    since=16,
    no_proof="the age of a database grows over days",
)
