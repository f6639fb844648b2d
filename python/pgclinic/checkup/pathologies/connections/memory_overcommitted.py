"""What the settings allow sessions to use is more than the memory of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.memory_sizes import memory_limit, size_text, vacuum_bytes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Evidence, Fact, Role, Severity, SubjectKind, Unit

_WORK_MEM_MIN = 4 << 20
_MEGABYTE = 1 << 20


def _detect(case: Case) -> Iterator[Seen]:
    limit = memory_limit(case)
    work, shared = case.number("work_mem"), case.number("shared_buffers")
    allowed = case.number("max_connections")
    if limit is None or work is None or shared is None or allowed is None:
        return
    vacuums = vacuum_bytes(case)
    connected = sum(1 for session in case.snapshot.sessions if session.backend_type in ("client backend", None))
    needed_now, needed = shared + vacuums + connected * work, shared + vacuums + allowed * work
    if needed <= limit:
        return
    fitting = (limit * 0.9 - shared - vacuums) / allowed
    yield Seen(
        subject="work_mem",
        severity=Severity.WARNING if needed_now > limit else Severity.NOTICE,
        evidence=(
            setting_evidence(case, "work_mem", Fact(name="sessions now", value=connected, unit=Unit.COUNT)),
            setting_evidence(case, "max_connections"),
            setting_evidence(case, "shared_buffers"),
            Evidence(
                kind=SubjectKind.MACHINE,
                name="memory",
                facts=(
                    Fact(name="of the machine or its group", value=limit, unit=Unit.BYTES),
                    Fact(name="sessions now with one work_mem each", value=int(needed_now), unit=Unit.BYTES),
                    Fact(name="all connections with one work_mem each", value=int(needed), unit=Unit.BYTES),
                ),
            ),
        ),
        cost=Cost(kind=CostKind.MEMORY_BYTES, value=(needed_now if needed_now > limit else needed) - limit),
        treatments=(
            change_settings(
                case,
                {"work_mem": size_text(max(fitting // _MEGABYTE * _MEGABYTE, _WORK_MEM_MIN))},
                title="a work_mem that all connections can use; more for single roles",
                risk="larger sorts and hashes write temporary files",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="memory-overcommitted",
    title="sessions may use more memory than there is",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Each sort and hash of a plan may use work_mem, in every session, beside shared_buffers and the memory "
    "of vacuums. When the machine runs out of memory the kernel kills a process of the server, and all sessions end in "
    "a recovery.",
    threshold="shared_buffers, automatic vacuums and one work_mem for each connection are more than the memory of the "
    "machine or its control group; a warning if those that are connected now are enough. One work_mem each is what "
    "sessions with a single sort use.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM",
        "https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT",
    ),
    detect=_detect,
    explains=("out-of-memory", "memory-pressure", "group-memory-near-limit"),
    needs=("host", "sessions"),
    no_proof="a lab does not run the machine out of memory",
)
