"""Reading the clock takes a microsecond and more."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity

#: They are read through an I/O port or a system call: 0.5 to 5 µs, against 0.02 µs of tsc.
SLOW = frozenset({"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"})
#: What reads the clock for each block, each WAL write, or each row.
_TIMED = ("track_io_timing", "track_wal_io_timing", "auto_explain.log_timing")


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None or host.clock_source not in SLOW:
        return
    timed = [name for name in _TIMED if case.is_on(name) and _is_used(case, name)]
    yield Seen(
        subject="clock source",
        severity=Severity.WARNING if timed else Severity.NOTICE,
        evidence=(
            machine(
                "clock source",
                (
                    Fact(name="in use", value=host.clock_source or ""),
                    Fact(name="available", value=", ".join(host.clock_sources)),
                ),
            ),
            *(setting_evidence(case, name) for name in timed),
        ),
        treatments=(
            administer(
                "choose tsc (clocksource=tsc tsc=reliable on the kernel's command line) if pg_test_timing confirms it",
                risk="on old or badly virtualised processors tsc may run unevenly",
            ),
        ),
    )


def _is_used(case: Case, name: str) -> bool:
    return not name.startswith("auto_explain.") or case.is_on("auto_explain.log_analyze")


PATHOLOGY = Pathology(
    name="clock-source-slow",
    title="reading the clock is slow",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="The kernel keeps time by a device that takes 0.5 to 5 µs to read, twenty times and more what tsc takes. "
    "EXPLAIN ANALYZE reads it twice for each row, track_io_timing twice for each block.",
    threshold="hpet, acpi_pm and the like; a warning when a setting is on that reads the clock all the time.",
    references=("https://www.postgresql.org/docs/current/pgtesttiming.html",),
    detect=_detect,
    explains=("auto-explain-overhead",),
    needs=("host",),
    no_proof="the clock is of this machine",
)
