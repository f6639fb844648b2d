"""What the kernel tells about one process under /proc. Everything is None for a process that is gone or hidden."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pgclinic.model.memory import ProcessMemory

_PROC = "/proc"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# All of them are far smaller, but for a command line, of which the beginning is enough.
_FILE_BYTES_MAX = 16_384
_IN_STATUS = re.compile(r"^(RssAnon|voluntary_ctxt_switches|nonvoluntary_ctxt_switches):\s+(\d+)", re.MULTILINE)
_IN_IO = re.compile(r"^(rchar|wchar|syscr|syscw|read_bytes|write_bytes): (\d+)", re.MULTILINE)
_IN_NAMESPACES = re.compile(r"^NSpid:\s+([\d\s]+)$", re.MULTILINE)
_IN_ROLLUP = re.compile(r"^(Pss):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Stat:
    """From /proc/PID/stat. ``reaped_`` figures are those of children that have ended and were waited for.

    ``started_ticks`` counts from boot: with it a process id cannot be mistaken for a later process.
    """

    parent: int
    minor_faults: int
    reaped_minor_faults: int
    major_faults: int
    reaped_major_faults: int
    user_s: float
    system_s: float
    reaped_user_s: float
    reaped_system_s: float
    started_ticks: int


@dataclass(frozen=True)
class Status:
    """From /proc/PID/status. ``rss_anon_bytes`` is None for a process that is just ending."""

    voluntary_switches: int
    involuntary_switches: int
    rss_anon_bytes: int | None


@dataclass(frozen=True)
class ProcessIo:
    """From /proc/PID/io; the sums include children that have ended and were waited for.

    ``_calls`` are system calls, ``_chars`` bytes they moved, ``_bytes`` those of them that storage saw.
    """

    read_calls: int
    write_calls: int
    read_chars: int
    write_chars: int
    read_bytes: int
    write_bytes: int


def read_stat(pid: int) -> Stat | None:
    text = _text(pid, "stat")
    if text is None:
        return None
    # The command's name stands in parentheses and may hold anything.
    fields = text.rpartition(")")[2].split()
    return Stat(
        parent=int(fields[1]),
        minor_faults=int(fields[7]),
        reaped_minor_faults=int(fields[8]),
        major_faults=int(fields[9]),
        reaped_major_faults=int(fields[10]),
        user_s=int(fields[11]) / _TICKS_PER_S,
        system_s=int(fields[12]) / _TICKS_PER_S,
        reaped_user_s=int(fields[13]) / _TICKS_PER_S,
        reaped_system_s=int(fields[14]) / _TICKS_PER_S,
        started_ticks=int(fields[19]),
    )


def read_status(pid: int) -> Status | None:
    fields = _named(_text(pid, "status"), _IN_STATUS)
    if "voluntary_ctxt_switches" not in fields:
        return None
    return Status(
        voluntary_switches=fields["voluntary_ctxt_switches"],
        involuntary_switches=fields["nonvoluntary_ctxt_switches"],
        rss_anon_bytes=fields["RssAnon"] * 1024 if "RssAnon" in fields else None,
    )


def read_io(pid: int) -> ProcessIo | None:
    """None also where this user may not see it: only the process's own user and root may."""
    fields = _named(_text(pid, "io"), _IN_IO)
    if "syscr" not in fields:
        return None
    return ProcessIo(
        read_calls=fields["syscr"],
        write_calls=fields["syscw"],
        read_chars=fields["rchar"],
        write_chars=fields["wchar"],
        read_bytes=fields["read_bytes"],
        write_bytes=fields["write_bytes"],
    )


def read_run_time(pid: int) -> str | None:
    """A text that changes whenever the process gets a processor: its run time to the nanosecond, and its waits.

    None also where the kernel does not count: it then says of every process that it never ran.
    """
    text = _text(pid, "schedstat")
    return None if text is None or text.startswith("0 ") else text


def read_title(pid: int) -> str | None:
    """What the process calls itself; PostgreSQL writes there what it is and does."""
    text = _text(pid, "cmdline")
    return None if text is None else text.replace("\0", " ").strip()


def read_memory(pid: int) -> ProcessMemory | None:
    """With Pss, for which the kernel walks all pages of the process: milliseconds, not for every second."""
    status = read_status(pid)
    if status is None or status.rss_anon_bytes is None:
        return None
    pss_kb = _named(_text(pid, "smaps_rollup"), _IN_ROLLUP).get("Pss")
    return ProcessMemory(rss_anon_bytes=status.rss_anon_bytes, pss_bytes=None if pss_kb is None else pss_kb * 1024)


def processes_numbered_inside(number: int) -> tuple[int, ...]:
    """Processes of namespaces below ours, such as a container's, that have this id in theirs; none of our own."""
    found = []
    for pid in process_numbers():
        numbers = _IN_NAMESPACES.search(_text(pid, "status") or "")
        if numbers is not None and int(numbers[1].split()[-1]) == number and len(numbers[1].split()) > 1:
            found.append(pid)
    return tuple(found)


def process_numbers(proc: Path = Path(_PROC)) -> list[int]:
    """The processes of this machine; none where there is no /proc, as on macOS."""
    try:
        return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return []


def children_of(pid: int) -> tuple[int, ...]:
    """The kernel lists them per thread; without that list every process is asked for its parent."""
    try:
        return tuple(int(word) for word in Path(f"{_PROC}/{pid}/task/{pid}/children").read_text().split())
    except OSError:
        pids = process_numbers()
        return tuple(each for each in pids if (stat := read_stat(each)) is not None and stat.parent == pid)


def _text(pid: int, name: str) -> str | None:
    # Hundreds of processes are looked at every second: this takes half the time of a file object.
    try:
        descriptor = os.open(f"{_PROC}/{pid}/{name}", os.O_RDONLY)
        try:
            return os.read(descriptor, _FILE_BYTES_MAX).decode(errors="replace")
        finally:
            os.close(descriptor)
    # A process that ends while its file is read is ProcessLookupError, which is one of these.
    except OSError:
        return None


def _named(text: str | None, pattern: re.Pattern[str]) -> dict[str, int]:
    """The lines ``name: number`` that ``pattern`` looks for."""
    return {name: int(number) for name, number in pattern.findall(text)} if text is not None else {}
