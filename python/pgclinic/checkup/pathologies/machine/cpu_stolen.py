"""The hypervisor gives the processors to others."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: Statements take longer by this share, which is more than most noise; twenty percent change what users see.
STOLEN_NOTICE, STOLEN_WARNING = 0.05, 0.10


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None or host.cpu_stolen_share is None or host.cpu_stolen_share < STOLEN_NOTICE:
        return
    stolen = host.cpu_stolen_share
    yield Seen(
        subject="processors",
        severity=Severity.WARNING if stolen >= STOLEN_WARNING else Severity.NOTICE,
        evidence=(
            machine(
                "processors",
                (
                    Fact(name="processors", value=host.processors, unit=Unit.COUNT),
                    *shares(stolen=stolen, idle=host.cpu_idle_share),
                ),
            ),
        ),
        cost=Cost(kind=CostKind.CPU_SHARE, value=stolen, basis=tuple(shares(stolen=stolen))),
        treatments=(
            administer(
                "move to a host that is less shared, to dedicated processors, or to an instance without CPU credits",
                risk="a restart of the machine",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="cpu-stolen",
    title="the hypervisor takes processors away",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="The virtual machine wants to run and the hypervisor runs another one, because the host is "
    "overcommitted or CPU credits are used up. Processes that hold locks stand still with all who wait for them.",
    threshold="5 % of all CPU time is a notice, 10 % a warning: below that it is hardly more than the noise between "
    "runs.",
    references=("https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat",),
    detect=_detect,
    explains=("cpu-saturated",),
    needs=("host",),
    no_proof="only the owner of the hypervisor can change it",
)
