"""A VACUUM reads all indexes several times, as its memory for dead rows is too small."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.model.snapshot import VacuumState

#: Before 17 every dead row takes six bytes, and no more than 1 GB is used.
_BYTES_A_ROW, _BYTES_MAX = 6, 1 << 30
#: From 17 on a page with dead rows takes a few dozen bytes.
_BYTES_A_PAGE = 64
_MEGABYTE = 1 << 20


def _detect(case: Case) -> Iterator[Seen]:
    for vacuum in case.snapshot.vacuums:
        table = case.all_tables.get(vacuum.table_oid)
        if table is None or not _needs_another_pass(vacuum):
            continue
        index_bytes = sum(index.state.bytes or 0 for index in table.indexes)
        setting = _memory_setting(case, vacuum)
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING,
            evidence=(
                Evidence(
                    kind=SubjectKind.TABLE,
                    name=table.name,
                    pid=vacuum.pid,
                    facts=(
                        Fact(name="passes over all indexes so far", value=vacuum.index_passes, unit=Unit.COUNT),
                        Fact(name="read in each pass", value=index_bytes, unit=Unit.BYTES),
                        Fact(name="pages scanned", value=vacuum.pages_scanned, unit=Unit.COUNT),
                        Fact(name="pages", value=vacuum.pages, unit=Unit.COUNT),
                        Fact(name="running for", value=vacuum.running_s or 0.0, unit=Unit.SECONDS),
                    ),
                ),
                setting_evidence(case, setting),
            ),
            tables=(table.name,),
            treatments=(_more_memory(case, table, setting),),
        )


def _needs_another_pass(vacuum: VacuumState) -> bool:
    """A pass before the table is read to its end is not the last one."""
    more = vacuum.phase == "scanning heap" and vacuum.pages_scanned < vacuum.pages
    return vacuum.index_passes >= 2 or (vacuum.index_passes == 1 and more)


def _memory_setting(case: Case, vacuum: VacuumState) -> str:
    own = case.number("autovacuum_work_mem")
    return "autovacuum_work_mem" if vacuum.is_automatic and own is not None and own > 0 else "maintenance_work_mem"


def _more_memory(case: Case, table: Table, setting: str) -> Treatment:
    """As much as all dead rows of the table need, and at least twice what there is."""
    now = case.number(setting) or 64 * _MEGABYTE
    pages = (table.state.bytes or 0) // case.snapshot.server.block_bytes
    needed = pages * _BYTES_A_PAGE if case.major >= 17 else table.dead * _BYTES_A_ROW
    wanted = max(2 * now, 1.2 * needed)
    if case.major < 17:
        wanted = min(wanted, _BYTES_MAX)
    megabytes = max(64, -(-int(wanted) // _MEGABYTE))
    return change_settings(
        case,
        {setting: f"{megabytes}MB"},
        title="give VACUUM enough memory for one pass",
        risk="each worker of autovacuum and each CREATE INDEX may take as much; a VACUUM that runs keeps what it has",
    )


PATHOLOGY = Pathology(
    name="vacuum-index-passes",
    title="VACUUM reads all indexes of a table several times",
    area=Area.VACUUM,
    role=Role.SYMPTOM,
    mechanism="VACUUM collects dead rows in memory and reads every index of the table whole whenever that memory is "
    "full. With too little of it, the indexes are read once for each part of the table.",
    threshold="One pass is needed if anything is dead; each further one reads all indexes again and removes nothing "
    "that one pass with enough memory would not have removed.",
    references=(
        "https://www.postgresql.org/docs/current/progress-reporting.html#VACUUM-PROGRESS-REPORTING",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-MAINTENANCE-WORK-MEM",
    ),
    detect=_detect,
    explains=("autovacuum-behind",),
    needs=("vacuums",),
    no_proof="it is seen while a VACUUM runs, and a twin is filled anew",
)
