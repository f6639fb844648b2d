"""Whole tables are vacuumed to prevent wraparound, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wraparound.wraparound import TRANSACTIONS, ids_per_s
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
from pgclinic.model.snapshot import VacuumState
from pgclinic.sql.quoting import qualified

_SETTING = "autovacuum_freeze_max_age"
_DEFAULT = 200_000_000
#: At 100 transactions a second every table would be read whole each day.
LOW_AGE = 10_000_000
#: Forced vacuums of one table that follow each other within a day.
BETWEEN_S_MAX = 86_400.0
#: Ten times the time between two of them, and a quarter of all IDs.
_AGE_ADVISED = 500_000_000


def _detect(case: Case) -> Iterator[Seen]:
    limit = case.number(_SETTING) or _DEFAULT
    running = [vacuum for vacuum in case.snapshot.vacuums if vacuum.prevents_wraparound and vacuum.is_automatic]
    own = [one for one in running if _own_limit(case, one) is not None]
    for one in own:
        yield _of_table(case, one)
    of_server = [one for one in running if one not in own]
    rate = ids_per_s(case, TRANSACTIONS)
    between_s = limit / rate if rate else None
    is_often = limit <= LOW_AGE or (between_s is not None and between_s < BETWEEN_S_MAX)
    if not is_often or (not of_server and limit > LOW_AGE):
        return
    facts = (Fact(name="time between two of a table", value=between_s, unit=Unit.SECONDS),) if between_s else ()
    yield Seen(
        subject=_SETTING,
        severity=Severity.WARNING if of_server else Severity.NOTICE,
        evidence=(*(_vacuum_evidence(case, one) for one in of_server), setting_evidence(case, _SETTING, *facts)),
        tables=tuple(_name(case, one) for one in of_server),
        cost=_cost(case, between_s),
        treatments=(
            change_settings(
                case,
                {_SETTING: str(_DEFAULT if limit < _DEFAULT else max(_AGE_ADVISED, int(limit)))},
                title="let rows become older before a VACUUM is forced",
                risk="the commit log keeps the status of more transactions, 2 bits for each",
            ),
        ),
    )


def _of_table(case: Case, vacuum: VacuumState) -> Seen:
    table = case.all_tables[vacuum.table_oid]
    name = qualified(table.state.schema, table.state.name)
    return Seen(
        subject=table.name,
        severity=Severity.WARNING,
        evidence=(_vacuum_evidence(case, vacuum),),
        tables=(table.name,),
        treatments=(
            Treatment(
                title="go back to the limit of the server",
                applies=Applies.STATEMENT,
                sql=(f"alter table {name} reset ({_SETTING})",),
                lock="ShareUpdateExclusiveLock: waits until the VACUUM that runs has ended; reads and writes go on",
                risk="rows of the table become older before they are frozen",
                undo=(f"alter table {name} set ({_SETTING} = {table.option(_SETTING)})",),
            ),
        ),
    )


def _own_limit(case: Case, vacuum: VacuumState) -> float | None:
    """A limit of the table's own, if it is so low that it explains the run."""
    table = case.all_tables.get(vacuum.table_oid)
    own = table.option(_SETTING) if table is not None else None
    return float(own) if own is not None and float(own) <= LOW_AGE else None


def _vacuum_evidence(case: Case, vacuum: VacuumState) -> Evidence:
    facts = [
        Fact(name="VACUUM to prevent wraparound runs for", value=vacuum.running_s or 0.0, unit=Unit.SECONDS),
        Fact(name="pages", value=vacuum.pages, unit=Unit.COUNT),
        Fact(name="pages scanned", value=vacuum.pages_scanned, unit=Unit.COUNT),
    ]
    own = _own_limit(case, vacuum)
    if own is not None:
        facts.append(Fact(name=f"storage parameter {_SETTING}", value=own, unit=Unit.TRANSACTIONS))
    return Evidence(kind=SubjectKind.TABLE, name=_name(case, vacuum), pid=vacuum.pid, facts=tuple(facts))


def _name(case: Case, vacuum: VacuumState) -> str:
    table = case.all_tables.get(vacuum.table_oid)
    if table is not None:
        return table.name
    owner = next((one for one in case.all_tables.values() if one.state.toast_oid == vacuum.table_oid), None)
    return owner.name if owner is not None else f"oid {vacuum.table_oid}"


def _cost(case: Case, between_s: float | None) -> Cost | None:
    """All tables are read once in that time, but for pages that are frozen already: at most this."""
    if not between_s:
        return None
    whole = sum((table.state.bytes or 0) + (table.state.toast_bytes or 0) for table in case.tables)
    return Cost(
        kind=CostKind.IO_BYTES_PER_S,
        value=whole / between_s,
        basis=(
            Fact(name="size of all tables", value=whole, unit=Unit.BYTES),
            Fact(name="time between two of a table", value=between_s, unit=Unit.SECONDS),
        ),
    )


PATHOLOGY = Pathology(
    name="forced-vacuums",
    title="tables are vacuumed to prevent wraparound too often",
    area=Area.WRAPAROUND,
    role=Role.CAUSE,
    mechanism="A table whose oldest row passes autovacuum_freeze_max_age is vacuumed whole, changed or not. Unlike "
    "any other VACUUM of autovacuum this one does not give way to ALTER TABLE and the like, which wait until it has "
    "ended.",
    threshold="A limit of 10 million or less, or transactions so fast that each table is due again within a day: with "
    "the default of 200 million and 1,000 writing transactions a second there are more than two days between.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-AUTOVACUUM-FREEZE-MAX-AGE",
    ),
    detect=_detect,
    explains=("autovacuum-behind", "ddl-lock-queue"),
    needs=("vacuums",),
    no_proof="a twin is filled anew, and none of its rows is old",
)
