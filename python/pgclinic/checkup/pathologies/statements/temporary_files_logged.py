"""Statements that wrote temporary files, by the server's own log."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import TEMPORARY_FILES
from pgclinic.checkup.server_log import log_evidence
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import (
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Unit,
)

#: A sort of 100 MB takes a second; files of less are of statements that run seldom.
BYTES_MIN = 1_000_000
#: 1 MB a second is written, read again, and competes with checkpoints.
COSTLY_BYTES_PER_S = 1_000_000
#: More would be dangerous as a setting for all sessions.
WORK_MEM_MAX = 256 * 1024**2
_STATEMENTS_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None or log.temporary_bytes < BYTES_MIN:
        return
    rate = log.temporary_bytes / max(log.seconds, 1.0)
    work_mem = case.number("work_mem") or 0.0
    mean = log.temporary_bytes / max(log.temporary_files, 1)
    # Small rows take three to four times as much in memory as in files.
    wanted = min(max(4 * mean, 2 * work_mem), WORK_MEM_MAX)
    yield Seen(
        subject="work_mem",
        severity=Severity.WARNING if rate >= COSTLY_BYTES_PER_S else Severity.NOTICE,
        evidence=(
            log_evidence(
                log,
                Fact(name="temporary files", value=log.temporary_files, unit=Unit.COUNT),
                Fact(name="size of all", value=log.temporary_bytes, unit=Unit.BYTES),
                Fact(name="mean size", value=mean, unit=Unit.BYTES),
            ),
            *(
                Evidence(
                    kind=SubjectKind.STATEMENT,
                    name=spill.statement,
                    facts=(
                        Fact(name="temporary files", value=spill.files, unit=Unit.COUNT),
                        Fact(name="size", value=spill.bytes, unit=Unit.BYTES),
                    ),
                )
                for spill in log.spills[:_STATEMENTS_NAMED]
                if spill.statement
            ),
            setting_evidence(case, "work_mem"),
        ),
        cost=Cost(
            kind=CostKind.IO_BYTES_PER_S,
            value=rate,
            basis=(Fact(name="temporary files", value=log.temporary_bytes, unit=Unit.BYTES),),
        ),
        claim=TimeClaim(waits=TEMPORARY_FILES),
        treatments=(
            change_settings(
                case,
                {"work_mem": f"{int(wanted) >> 20}MB"},
                title="give sorts and hashes more memory; better for the role or the statement alone",
                risk="each sort and hash of each session may take it: sessions times nodes times work_mem",
            ),
        )
        if int(wanted) >> 20
        else (),
    )


PATHOLOGY = Pathology(
    name="temporary-files-logged",
    title="the log has statements that spill to disk",
    area=Area.STATEMENTS,
    role=Role.SYMPTOM,
    mechanism="A sort or a hash that does not fit into work_mem (times hash_mem_multiplier) is written to temporary "
    "files and read again. log_temp_files names the statement of each file.",
    threshold="1 MB in all; a warning from 1 MB a second on, which competes with the reads and writes of everybody "
    "else.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-TEMP-FILES",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM",
    ),
    detect=_detect,
    needs=("log", "settings"),
    proof=ProofOn.TWIN,
)
