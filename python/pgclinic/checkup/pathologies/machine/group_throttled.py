"""The CPU limit of a container or a unit stops the server."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, cpu_by_kind, machine, shares, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: In such a share of the periods of 100 ms statements stand still for a part of it.
THROTTLED_NOTICE, THROTTLED_WARNING = 0.05, 0.25


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None or host.group_throttled_share is None or host.group_throttled_share < THROTTLED_NOTICE:
        return
    throttled = host.group_throttled_share
    yield Seen(
        subject="control group",
        severity=Severity.WARNING if throttled >= THROTTLED_WARNING else Severity.NOTICE,
        evidence=(
            machine(
                "control group",
                (
                    *shares(periods_throttled=throttled),
                    *(
                        (Fact(name="processors of the group", value=host.group_processors, unit=Unit.RATIO),)
                        if host.group_processors is not None
                        else ()
                    ),
                    Fact(name="processors of the machine", value=host.processors, unit=Unit.COUNT),
                    *cpu_by_kind(host),
                ),
            ),
        ),
        cost=Cost(kind=CostKind.CPU_SHARE, value=throttled, basis=tuple(shares(periods_throttled=throttled))),
        treatments=(
            administer(
                "raise the CPU limit (cpu.max, CPUQuota= of the unit, limits.cpu of the pod), or remove it",
                risk="other groups on this machine get less",
            ),
            administer(
                "let fewer processes work at once: max_parallel_workers, autovacuum_max_workers and the pool's size "
                "by the processors of the group",
                risk="large statements get fewer workers",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="group-throttled",
    title="a CPU limit stops the server",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="When the processes of a control group have used up the CPU of a period of 100 ms, all of them stand "
    "still until the next one. Holders of locks stand still with them, and latencies grow by tens of milliseconds.",
    threshold="5 % of the periods is a notice, 25 % a warning: then one statement in four may meet a stop.",
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files",),
    detect=_detect,
    explains=("cpu-saturated",),
    needs=("host",),
    no_proof="the limit is of this machine's configuration",
)
