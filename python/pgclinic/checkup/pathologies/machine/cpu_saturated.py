"""All processors are busy, and processes wait for one."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, cpu_by_kind, machine, shares, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Confidence, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

#: Idle for less than this: any further work waits.
IDLE_SHARE = 0.05
#: Without pressure, processors that are all busy are well used; queries wait when some process does half of the time.
PRESSURE_SHARE = 0.5
#: Kernels without pressure: the run queue is longer than the processors by this factor.
LOAD_RATIO = 2.0
#: Whose CPU it is: less than half of what is used is the server's.
SERVER_SHARE = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None or host.cpu_idle_share is None:
        return
    busy = 1.0 - host.cpu_idle_share - (host.cpu_iowait_share or 0.0)
    waits = host.pressure.get("cpu")
    queued = waits >= PRESSURE_SHARE if waits is not None else host.load_1m >= LOAD_RATIO * host.processors
    if busy < 1.0 - IDLE_SHARE or not queued:
        return
    server = host.server_cpu_share
    by_others = server is not None and server < SERVER_SHARE * busy
    yield Seen(
        subject="processors",
        # What others use is none of the server's illnesses, and may end with the next minute.
        severity=Severity.NOTICE if by_others else Severity.WARNING,
        confidence=Confidence.CERTAIN if server is not None else Confidence.LIKELY,
        evidence=(
            machine(
                "processors",
                (
                    Fact(name="processors", value=host.processors, unit=Unit.COUNT),
                    *shares(busy=busy, used_by_the_server=server, a_process_waits_for_one=waits),
                    Fact(name="load average of 1 min", value=round(host.load_1m, 1), unit=Unit.COUNT),
                    *cpu_by_kind(host),
                ),
            ),
        ),
        cost=Cost(
            kind=CostKind.CPU_SHARE,
            value=busy,
            basis=tuple(shares(idle=host.cpu_idle_share, used_by_the_server=server)),
        ),
        treatments=(
            administer(
                "identify other processes on this host (top, pidstat 1) and move them, or limit them with nice or a "
                "control group",
                risk="none for the server",
            )
            if by_others
            else Treatment(
                title="lower the CPU of the statements that take the most time; limit the sessions that work at once "
                "to about twice the processors with a pool",
                applies=Applies.APPLICATION,
                risk="none",
            ),
            administer("give the machine more processors", risk="a restart of the machine in most places"),
        ),
    )


PATHOLOGY = Pathology(
    name="cpu-saturated",
    title="all processors are busy",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism="More processes want to run than there are processors. Each statement takes longer by the time that it "
    "waits for one, and lock holders that wait make all others wait as well.",
    threshold="Idle for less than 5 %, and some process waits for a processor half of the time: without waiting "
    "processes, processors that are all busy are well used. A notice where other programs use more than half of it.",
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=_detect,
    needs=("host",),
    no_proof="a twin in the lab has other processors",
)
