"""The programs that use the processors beside us, by name, over a stretch of time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.model.doctor import BusyProgram
from pgclinic.observe.host_files import first_line
from pgclinic.observe.proc_files import process_numbers, read_stat

#: A process as its id and its start, in clock ticks after boot: an id may be used again.
_Process = tuple[int, int]


@dataclass(frozen=True)
class ProgramUse:
    """CPU seconds so far of every process, and the program's name, at one moment of the steady clock."""

    at_s: float
    cpu_s: Mapping[_Process, float]
    names: Mapping[_Process, str]


def programs_now(proc: Path = Path("/proc")) -> ProgramUse:
    """All processes but this one."""
    cpu_s, names = {}, {}
    at_s = time.monotonic()
    for pid in process_numbers(proc):
        if pid != os.getpid() and (stat := read_stat(pid)) is not None:
            process = (pid, stat.started_ticks)
            cpu_s[process] = stat.user_s + stat.system_s
            names[process] = first_line(proc / str(pid) / "comm") or "?"
    return ProgramUse(at_s=at_s, cpu_s=cpu_s, names=names)


def busy_programs(before: ProgramUse, after: ProgramUse) -> tuple[BusyProgram, ...]:
    """Who used the processors meanwhile, the busiest first; a process that ended in between is not seen."""
    elapsed_s = after.at_s - before.at_s
    used_s: dict[str, float] = {}
    for process, cpu_s in after.cpu_s.items():
        used = cpu_s - before.cpu_s.get(process, 0.0)
        if used > 0:
            name = after.names[process]
            used_s[name] = used_s.get(name, 0.0) + used
    if elapsed_s <= 0:
        return ()
    found = (BusyProgram(name=name, cores=used / elapsed_s) for name, used in used_s.items())
    return tuple(sorted(found, key=lambda one: (-one.cores, one.name)))
