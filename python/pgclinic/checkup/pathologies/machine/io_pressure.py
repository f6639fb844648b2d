"""Processes wait for the disk."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, sizes, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Role, Severity, TimeClaim, Treatment

#: All processes that could run wait for the disk, for this share of the time.
STALLED_NOTICE, STALLED_WARNING = 0.20, 0.40
#: Of active sessions that wait for data files or WAL: with fewer it is another program that waits.
SESSIONS_SHARE = 0.10


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None:
        return
    stalled = host.pressure.get("io_full", host.cpu_iowait_share)
    if stalled is None or stalled < STALLED_NOTICE:
        return
    waiting = sum(1.0 for row in case.active_rows if row.get("wait_event_type") == "IO") / max(len(case.active_rows), 1)
    is_ours = waiting >= SESSIONS_SHARE
    yield Seen(
        subject="disks",
        severity=Severity.WARNING if is_ours and stalled >= STALLED_WARNING else Severity.NOTICE,
        evidence=(
            machine(
                "disks",
                (
                    *shares(
                        all_processes_wait_for_io=host.pressure.get("io_full"),
                        some_process_waits_for_io=host.pressure.get("io"),
                        processors_idle_for_io=host.cpu_iowait_share,
                        active_sessions_that_wait_for_io=waiting,
                    ),
                    *sizes(memory_available=host.memory_available_bytes),
                ),
            ),
        ),
        claim=TimeClaim(waits=("IO:",)) if is_ours else None,
        treatments=(
            Treatment(
                title="let statements and checkpoints read and write less: indexes, shared_buffers, work_mem, "
                "max_wal_size",
                applies=Applies.APPLICATION,
                risk="none",
            ),
            administer("give the server faster disks, or pg_wal a disk of its own", risk="data has to be moved"),
        ),
    )


PATHOLOGY = Pathology(
    name="io-pressure",
    title="processes wait for the disk",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism="Reads that miss all caches, WAL that is flushed at commit, and checkpoints share the disks. When those "
    "are saturated, statements wait in turn.",
    threshold="All processes wait for I/O for 20 % of the time is a notice, 40 % with a tenth of the active sessions "
    "in I/O waits a warning: a commit that waits for its own flush is below that.",
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=_detect,
    needs=("host",),
    no_proof="a twin in the lab has other disks",
)
