"""The machine has too little memory for what runs on it."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit

#: Some process waits for memory for this share of the time.
PRESSURE_SHARE = 0.05
#: 1 MB a second that goes to the disk and comes back.
SWAPPED_PAGES_PER_S = 250.0
#: With less than this the page cache is empty, and the kernel frees memory before it gives any.
AVAILABLE_WARNING, AVAILABLE_CRITICAL = 0.05, 0.02
_PROCESSES_NAMED = 3


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None or not host.memory_bytes:
        return
    available = host.memory_available_bytes / host.memory_bytes
    swapped, waits = host.swapped_pages_per_s or 0.0, host.pressure.get("memory", 0.0)
    if available >= AVAILABLE_WARNING and swapped < SWAPPED_PAGES_PER_S and waits < PRESSURE_SHARE:
        return
    kills_next = available < AVAILABLE_CRITICAL and host.swap_free_bytes < AVAILABLE_CRITICAL * host.memory_bytes
    largest = sorted(host.processes, key=lambda one: one.memory_bytes or 0, reverse=True)[:_PROCESSES_NAMED]
    yield Seen(
        subject="memory",
        severity=Severity.CRITICAL if kills_next else Severity.WARNING,
        evidence=(
            machine(
                "memory",
                (
                    *sizes(
                        memory=host.memory_bytes, available=host.memory_available_bytes, swap_free=host.swap_free_bytes
                    ),
                    Fact(name="pages swapped a second", value=swapped, unit=Unit.PER_S),
                    *shares(a_process_waits_for_memory=host.pressure.get("memory")),
                    *(
                        Fact(name=f"{process.kind} {process.pid}", value=process.memory_bytes or 0, unit=Unit.BYTES)
                        for process in largest
                    ),
                ),
            ),
        ),
        treatments=(
            Treatment(
                title="let the server use less: work_mem times the sessions that work, fewer connections, "
                "shared_buffers",
                applies=Applies.APPLICATION,
                risk="with less work_mem sorts and hashes spill to disk",
            ),
            administer(
                "move other programs away from this machine, or give it more memory", risk="a restart for memory"
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="memory-pressure",
    title="memory is short",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism="Processes wait while the kernel frees memory: it drops cached files that are read again, and swaps. "
    "When nothing is left it kills the process with the most memory, after which the whole server restarts.",
    threshold="Less than 5 % available, 1 MB swapped a second, or processes that wait for memory 5 % of the time; "
    "critical below 2 % without swap, where the kernel kills next.",
    references=(
        "https://docs.kernel.org/accounting/psi.html",
        "https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT",
    ),
    detect=_detect,
    explains=("out-of-memory", "io-pressure"),
    needs=("host",),
    no_proof="a twin in the lab has other memory",
)
