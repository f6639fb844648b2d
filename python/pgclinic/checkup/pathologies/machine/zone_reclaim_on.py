"""The kernel frees memory of one NUMA node while others have plenty."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

#: Processes that have to free memory before they get any: each takes up to milliseconds.
STALLS_WARNING = 10.0


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None or not host.zone_reclaim:
        return
    stalls = host.reclaim_stalls_per_s or 0.0
    yield Seen(
        subject="vm.zone_reclaim_mode",
        severity=Severity.WARNING if stalls >= STALLS_WARNING else Severity.NOTICE,
        evidence=(
            machine(
                "vm.zone_reclaim_mode",
                (
                    Fact(name="value", value=host.zone_reclaim),
                    Fact(name="processes stopped to free memory", value=stalls, unit=Unit.PER_S),
                    *sizes(memory_available=host.memory_available_bytes),
                ),
            ),
        ),
        treatments=(
            administer("sysctl -w vm.zone_reclaim_mode=0 (and in /etc/sysctl.d)", risk="none for a database server"),
        ),
    )


PATHOLOGY = Pathology(
    name="zone-reclaim-on",
    title="the kernel drops cached files of one NUMA node",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="With vm.zone_reclaim_mode the kernel drops cached files of a process's own NUMA node before it uses "
    "memory of another one. Files of the database are read again although memory is free, and processes stop to free "
    "it.",
    threshold="Any value but 0, which is the default, is a notice; a warning where ten processes a second stop to free "
    "memory.",
    references=("https://docs.kernel.org/admin-guide/sysctl/vm.html#zone-reclaim-mode",),
    detect=_detect,
    explains=("memory-pressure", "io-pressure"),
    needs=("host",),
    no_proof="it needs a machine with several NUMA nodes",
)
