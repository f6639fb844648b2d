"""The memory limit of a container or a unit is nearly reached."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

#: One sort or one hash more is enough; what the kernel may take back is not counted.
NEAR_SHARE, CRITICAL_SHARE = 0.90, 0.97


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None or not host.group_memory_bytes or host.group_memory_used_bytes is None:
        return
    share = host.group_memory_used_bytes / host.group_memory_bytes
    if share < NEAR_SHARE:
        return
    yield Seen(
        subject="control group",
        severity=Severity.CRITICAL if share >= CRITICAL_SHARE else Severity.WARNING,
        evidence=(
            machine(
                "control group",
                (
                    *sizes(limit=host.group_memory_bytes, used=host.group_memory_used_bytes),
                    Fact(name="used share", value=share, unit=Unit.SHARE),
                    Fact(name="processes killed in it", value=host.group_oom_kills or 0, unit=Unit.COUNT),
                    Fact(name="shared_buffers", value=case.shown("shared_buffers")),
                    Fact(name="work_mem", value=case.shown("work_mem")),
                ),
            ),
        ),
        cost=Cost(
            kind=CostKind.MEMORY_BYTES,
            value=host.group_memory_used_bytes,
            basis=tuple(sizes(limit=host.group_memory_bytes)),
        ),
        treatments=(
            administer(
                "raise the memory limit (memory.max, MemoryMax= of the unit, limits.memory of the pod)",
                risk="other groups on this machine have less",
            ),
            Treatment(
                title="let the server use less: work_mem times the sessions that work, fewer connections, "
                "shared_buffers",
                applies=Applies.APPLICATION,
                risk="with less work_mem sorts and hashes spill to disk",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="group-memory-near-limit",
    title="the memory limit of the control group is nearly reached",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="At the limit of its control group the kernel kills a process of the server, although the machine has "
    "memory left; the whole server restarts. Before that it takes the cached files away, and reads go to the disk.",
    threshold="90 % of the limit without cache that can be taken back: one large sort reaches it. Critical from 97 %.",
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files",),
    detect=_detect,
    explains=("memory-pressure", "out-of-memory", "server-crashed"),
    needs=("host",),
    no_proof="it would have to kill a server",
)
