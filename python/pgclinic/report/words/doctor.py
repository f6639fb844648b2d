"""The checks of a machine in words: the answer in two sentences, and what was found for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pgclinic.doctor.checks import FLUSH_US_MIN, available_bytes, can_run
from pgclinic.model.doctor import (
    CheckName,
    CheckState,
    DoctorReadings,
    IoUringState,
    MachineCheck,
    VerdictCost,
)
from pgclinic.report.words.figures import count, number, percent, size

#: How many names a line lists.
_SHOWN = 3
_NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COST_WORDS = {
    VerdictCost.RUN: "no verdict",
    VerdictCost.WIDTH: "width",
    VerdictCost.BIAS: "bias",
    VerdictCost.EVIDENCE: "evidence",
    VerdictCost.COVERAGE: "coverage",
    VerdictCost.SPACE: "space",
}
COST_LEGEND = {
    VerdictCost.RUN: "nothing can run",
    VerdictCost.WIDTH: "wider intervals, or more blocks for the same",
    VerdictCost.BIAS: "the ratio is partly of something else than the server",
    VerdictCost.EVIDENCE: "less is known about causes",
    VerdictCost.COVERAGE: "some questions cannot be asked here",
    VerdictCost.SPACE: "memory or disk is held by nothing",
}


def doctor_answer(readings: DoctorReadings, checks: Sequence[MachineCheck]) -> str:
    """What the machine can do, and how many changes would make its verdicts better."""
    if not can_run(tuple(checks)):
        blocking = [check.name.value for check in checks if check.state is CheckState.BLOCKS]
        return f"This machine cannot run servers of the lab: see {_listed(blocking)}."
    helping = [check for check in checks if check.state is CheckState.HELPS]
    narrower = [check for check in helping if check.cost in (VerdictCost.WIDTH, VerdictCost.BIAS)]
    return f"{_can(readings)}; {_changes(len(narrower), len(helping) - len(narrower))}."


def _can(readings: DoctorReadings) -> str:
    versions = [one.version for one in readings.versions]
    more = f" and {count(len(versions) - 1, 'other version')}" if len(versions) > 1 else ""
    return f"This machine can measure PostgreSQL {versions[0]}{more} without a download"


def _changes(narrower: int, others: int) -> str:
    if not narrower and not others:
        return "nothing would make its verdicts better"
    parts = []
    if narrower:
        parts.append(f"{_things(narrower)} would make its verdicts narrower or less biased")
    if others:
        parts.append(f"{_things(others, more=bool(narrower))} would help otherwise")
    return ", ".join(parts)


def _things(amount: int, more: bool = False) -> str:
    numeral = _NUMERALS[amount] if amount < len(_NUMERALS) else str(amount)
    if more:
        return f"{numeral} more"
    return f"{numeral} thing" + ("" if amount == 1 else "s")


def found_words(readings: DoctorReadings, check: MachineCheck) -> str | None:
    """What was found, in a line; None where it could not be read."""
    words = _FOUND[check.name]
    return words(readings, check.state)


def _listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _home(readings: DoctorReadings, state: CheckState) -> str | None:
    if state is CheckState.BLOCKS:
        return readings.home.problem
    kind = f" ({readings.home.filesystem})" if readings.home.filesystem else ""
    return f"{readings.home.path}{kind} can be written to"


def _account(readings: DoctorReadings, _: CheckState) -> str | None:
    if readings.home.problem is not None:
        return None
    account = readings.home.account
    return f"you are root: servers run as {account}" if account is not None else "servers run as you"


def _engine(readings: DoctorReadings, state: CheckState) -> str:
    if state is CheckState.BLOCKS:
        return f"a {readings.engine_profile} build, which measures itself"
    return f"a {readings.engine_profile} build"


def _versions(readings: DoctorReadings, _: CheckState) -> str | None:
    if readings.home.problem is not None:
        return None
    if not readings.versions:
        return "no server is installed or downloaded"
    names = [f"{one.version} (embedded)" if one.source == "embedded" else one.version for one in readings.versions]
    return f"{', '.join(names)}; others are downloaded when they are asked for"


def _disk_space(readings: DoctorReadings, _: CheckState) -> str | None:
    free = readings.home.bytes_free
    return None if free is None else f"{size(free)} free in {readings.home.path}"


def _memory(readings: DoctorReadings, state: CheckState) -> str | None:
    available, host = available_bytes(readings), readings.host
    if available is None or host is None:
        return None
    limit = f", limit of the control group {size(host.group_memory_bytes)}" if host.group_memory_bytes else ""
    words = f"{size(available)} of {size(host.memory_bytes)} available{limit}"
    return words if state is CheckState.FINE else f"{words}: servers may swap, or be killed"


def _cores(readings: DoctorReadings, state: CheckState) -> str:
    words = f"{count(readings.machine.cores, 'core')}, {readings.machine.cpu_model}"
    if state is CheckState.FINE:
        return words
    return f"{words}: server and load engine share them; run larger loads on another host"


def _limits(readings: DoctorReadings, state: CheckState) -> str | None:
    host = readings.host
    if host is None:
        return None
    if host.group_processors is None:
        return "no CPU limit by a control group"
    words = (
        f"a control group limits the CPU to {number(host.group_processors)} of {count(readings.machine.cores, 'core')}"
    )
    return words if state is CheckState.FINE else f"{words}: the kernel stops all processes when it is used up"


def _other_programs(readings: DoctorReadings, state: CheckState) -> str | None:
    if readings.measuring:
        return "another command of pgclinic measures now"
    used = readings.others_cores
    if used is None or readings.host is None:
        return None
    words = f"{used:.1f} of {count(readings.host.processors, 'core')} busy for {readings.host.observed_s:.1f} s"
    busiest = [f"{one.name} {one.cores:.1f}" for one in readings.programs]
    return f"{words}: {_listed(busiest)}" if state is CheckState.HELPS and busiest else words


def _leftovers(readings: DoctorReadings, _: CheckState) -> str | None:
    if readings.home.problem is not None:
        return None
    if not readings.leftovers:
        return "none of killed commands"
    held = sum(one.bytes for one in readings.leftovers)
    processes = sum(one.processes for one in readings.leftovers)
    running = f", {count(processes, 'process')}" if processes == 1 else f", {processes} processes" if processes else ""
    named = _listed([f"{one.name} ({one.reason})" for one in readings.leftovers])
    return f"{named}{running}" + (f", {size(held)}" if held >= 1000 else "")


def _stolen(readings: DoctorReadings, _: CheckState) -> str | None:
    stolen = readings.host.cpu_stolen_share if readings.host is not None else None
    if stolen is None:
        return None
    return f"other virtual machines took {percent(stolen)} of the CPU"


def _governor(readings: DoctorReadings, state: CheckState) -> str:
    governor = readings.machine.governor
    if governor is None:
        return "none is visible, as in most virtual machines"
    return governor if state is CheckState.FINE else f"{governor}: the clock follows the load"


def _clock(readings: DoctorReadings, _: CheckState) -> str:
    source = readings.host.clock_source if readings.host is not None else None
    return f"{source or 'not known'}, {number(readings.clock_read_ns)} ns per reading"


def _disk_flush(readings: DoctorReadings, state: CheckState) -> str | None:
    flush = readings.home.flush
    if flush is None:
        return None
    words = (
        f"{number(round(flush.flushes_per_s))} flushes per s of 8 kB by fdatasync, "
        f"median {_time(flush.flush_us_p50)}, 90 % within {_time(flush.flush_us_p90)}"
    )
    if state is CheckState.FINE:
        return words
    durable = "nothing is made durable, so a figure of commits is none of a disk"
    return f"{words}: " + (durable if flush.flush_us_p50 < FLUSH_US_MIN else "commits wait unevenly")


def _time(microseconds: float) -> str:
    return f"{number(microseconds / 1000)} ms" if microseconds >= 1000 else f"{number(microseconds)} µs"


def _huge_pages(readings: DoctorReadings, state: CheckState) -> str | None:
    host = readings.host
    if host is None or host.huge_pages is None:
        return None
    transparent = host.transparent_huge_pages or "none"
    words = f"{host.huge_pages_free or 0} of {host.huge_pages} free; transparent huge pages: {transparent}"
    return words if state is CheckState.FINE else f"{words}. An arm with huge_pages=on does not start"


def _io_uring(readings: DoctorReadings, _: CheckState) -> str:
    reasons = {
        IoUringState.USABLE: "usable",
        IoUringState.DISABLED: "disabled by kernel.io_uring_disabled",
        IoUringState.REFUSED: "refused by a filter of system calls",
        IoUringState.MISSING: "the kernel has none",
    }
    words = reasons[readings.io_uring]
    if readings.io_uring is IoUringState.USABLE:
        return words
    return f"{words}: the load engine uses epoll, with more CPU per transaction"


def _perf(readings: DoctorReadings, state: CheckState) -> str:
    level = readings.perf_event_paranoid
    named = "the kernel has none" if level is None else f"kernel.perf_event_paranoid is {level}"
    if state is CheckState.FINE:
        return f"allowed for own processes ({named}); pgclinic itself does not use it"
    return f"not allowed ({named}): a server cannot be profiled beside a trial; pgclinic itself does not use it"


def _jit(readings: DoctorReadings, _: CheckState) -> str | None:
    if not readings.versions:
        return None
    having = [one.version for one in readings.versions if one.jit]
    return f"in {_listed(having)}" if having else "none of the versions here is built with LLVM: jit=on changes nothing"


def _extras(readings: DoctorReadings, _: CheckState) -> str | None:
    installed = [one.name for one in readings.extras if one.installed]
    missing = [one.name for one in readings.extras if not one.installed]
    if not readings.extras:
        return None
    parts = [
        *([f"installed: {', '.join(installed)}"] if installed else []),
        *([f"missing: {', '.join(missing)}"] if missing else []),
    ]
    return "; ".join(parts)


_FOUND: Mapping[CheckName, Callable[[DoctorReadings, CheckState], str | None]] = {
    CheckName.HOME: _home,
    CheckName.ACCOUNT: _account,
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
