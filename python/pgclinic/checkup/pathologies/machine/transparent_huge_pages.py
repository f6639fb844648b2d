"""Processes stand still while the kernel makes huge pages."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

#: Each takes up to milliseconds: ten a second may stop statements for 1 % of the time.
STALLS_NOTICE, STALLS_WARNING = 1.0, 10.0


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None or host.transparent_huge_pages != "always":
        return
    stalls = host.compaction_stalls_per_s or 0.0
    if stalls < STALLS_NOTICE:
        return
    yield Seen(
        subject="transparent huge pages",
        severity=Severity.WARNING if stalls >= STALLS_WARNING else Severity.NOTICE,
        evidence=(
            machine(
                "transparent huge pages",
                (
                    Fact(name="enabled", value=host.transparent_huge_pages),
                    Fact(name="processes stopped to compact memory", value=stalls, unit=Unit.PER_S),
                    *shares(a_process_waits_for_memory=host.pressure.get("memory")),
                ),
            ),
        ),
        treatments=(
            administer(
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and transparent_hugepage=madvise on the "
                "kernel's command line; use huge_pages for shared memory",
                risk="other programs on this machine that profit from them lose them",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="transparent-huge-pages",
    title="processes wait for transparent huge pages",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="With transparent huge pages set to always, a process that asks for memory may have to move other pages "
    "first, to make 2 MB in one piece. It stands still meanwhile, in the middle of a statement.",
    threshold="One such stop a second is a notice, ten are a warning: each takes up to some milliseconds. The setting "
    "alone, without stops, costs nothing.",
    references=("https://docs.kernel.org/admin-guide/mm/transhuge.html",),
    detect=_detect,
    explains=("memory-pressure",),
    needs=("host",),
    no_proof="it depends on how fragmented the memory of this machine is",
)
