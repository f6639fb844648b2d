"""Sorts and hashes do not fit work_mem and go to temporary files."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_role_setting, change_settings, setting_evidence
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Area, Fact, Role, Treatment, Unit

#: Rows in memory have pointers and headers that a file has not: about twice the size.
MEMORY_RATIO = 2.0
#: More for one operation is a question of the statement, and no setting for a server with many sessions.
WORK_MEM_MAX = 1 << 30
#: A statement that ran twice is no pattern.
CALLS_MIN = 3
_MB = 1 << 20


def _detect(case: Case) -> Iterator[Seen]:
    work_mem = case.number("work_mem")
    if work_mem is None:
        return
    spilled = tuple(
        one
        for one in workload(case)
        if one.calls >= CALLS_MIN and one.temporary_written and work_mem < _wanted(case, one) <= WORK_MEM_MAX
    )
    if not spilled:
        return
    wanted = max(_wanted(case, one) for one in spilled)
    database = case.database
    facts: tuple[Fact, ...] = ()
    if database is not None and database.temporary_files:
        facts = (
            Fact(name="temporary files", value=database.temporary_files, unit=Unit.COUNT),
            Fact(name="written to them", value=database.temporary_bytes or 0, unit=Unit.BYTES),
        )
    yield Seen(
        subject="work_mem",
        severity=severity_of(case, spilled),
        evidence=(
            setting_evidence(case, "work_mem", *facts),
            *(
                statement_evidence(
                    case, one, Fact(name="temporary files each call", value=_written(case, one), unit=Unit.BYTES)
                )
                for one in spilled
            ),
        ),
        cost=time_cost(case, spilled),
        claim=time_claim(spilled),
        treatments=tuple(_treatments(case, spilled, wanted)),
    )


def _written(case: Case, work: Work) -> float:
    return work.temporary_written * case.snapshot.server.block_bytes / work.calls


def _wanted(case: Case, work: Work) -> int:
    """Memory for one call, in the next power of two of MB."""
    wanted = _MB
    while wanted < MEMORY_RATIO * _written(case, work):
        wanted *= 2
    return wanted


def _treatments(case: Case, spilled: tuple[Work, ...], wanted: int) -> Iterator[Treatment]:
    value = f"{wanted // _MB}MB"
    connections = case.number("max_connections") or 0.0
    yield change_settings(
        case,
        {"work_mem": value},
        title=f"raise work_mem to {value}",
        risk=f"each sort and hash of {connections:g} possible sessions may take as much",
    )
    for user in dict.fromkeys(user for one in spilled for user in one.users):
        yield change_role_setting(
            case,
            user,
            "work_mem",
            value,
            title=f"raise it for {user} alone",
            risk="sessions that are connected keep the old value until they reconnect",
            prevents=False,
        )


PATHOLOGY = Pathology(
    name="work-mem-small",
    title="sorts and hashes go to temporary files",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="What does not fit work_mem is written to temporary files and read again, hash joins and aggregates "
    "sometimes more than once. Even in the page cache each block is copied by two system calls.",
    threshold="A statement that spills more than half of 1 GB in a call is too large for any setting of a server, and "
    "one that ran twice is no pattern. Where work_mem is twice the size of the files now, they are of the past.",
    references=("https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM",),
    detect=_detect,
    explains=("temporary-files-logged", "statement-dominates", "io-pressure"),
    needs=("settings", "counters.statements"),
    proof=ProofOn.TWIN,
)
