"""What the resting servers of an interleaved block use in the windows of the others.

A look reads /proc for every process of every server, when a window begins to count and just before it ends. That takes
some 10 us a process; a block of many sessions is looked at in only as many of its windows as keep it cheap.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.resting import RestingUse
from pgclinic.observe.proc_files import children_of, read_io, read_stat
from pgclinic.store.machine import usable_cores

#: Looking may take this share of one processor.
SHARE_MAX = 0.005
#: The last part of a window, so that a look that comes a little late does not see the next one.
MARGIN = 0.05


@dataclass(frozen=True)
class ActiveWindow:
    """``arm`` has the load; what counts lies between, by time.monotonic()."""

    arm: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class _Look:
    """``io_bytes`` is None where some process hides it."""

    cpu_s: float
    io_bytes: int | None


@dataclass
class _Sum:
    windows: int = 0
    elapsed_s: float = 0.0
    cpu_s: float = 0.0
    others_cpu_s: float = 0.0
    io_bytes: int = 0
    others_io_bytes: int = 0
    io_known: bool = True


class RestingWatch:
    """Looks from ``start`` to ``stop``. ``postmasters`` are by arm, None for a server that cannot be seen from here."""

    def __init__(self, postmasters: Mapping[str, int | None], turns: Sequence[ActiveWindow]) -> None:
        self._postmasters = {arm: pid for arm, pid in postmasters.items() if pid is not None}
        self._turns = turns
        self._sums: defaultdict[str, _Sum] = defaultdict(_Sum)
        #: The CPU that looking cost, in seconds; known when it has stopped.
        self.cost_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pgclinic-resting", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=5.0)

    def use(self, arm: str) -> RestingUse | None:
        """What the arm's server used in the windows of others; None where nothing was seen of it."""
        found = self._sums.get(arm)
        if found is None:
            return None
        return RestingUse(
            windows=found.windows,
            elapsed_s=found.elapsed_s,
            cores=usable_cores(),
            cpu_s=found.cpu_s,
            others_cpu_s=found.others_cpu_s,
            io_bytes=found.io_bytes if found.io_known else None,
            others_io_bytes=found.others_io_bytes if found.io_known else None,
        )

    def _run(self) -> None:
        started_s = time.monotonic()
        for turn in self._turns:
            if self.cost_s > SHARE_MAX * max(turn.begin_s - started_s, turn.end_s - turn.begin_s):
                continue
            if not self._watch(turn):
                return
            self.cost_s = time.thread_time()

    def _watch(self, turn: ActiveWindow) -> bool:
        """Look at one window; False when it is time to stop. One of which too little is seen does not count."""
        last_s = turn.end_s - MARGIN * (turn.end_s - turn.begin_s)
        if time.monotonic() > turn.begin_s + (last_s - turn.begin_s) / 2:
            return not self._stopping.is_set()
        if self._stopping.wait(max(0.0, turn.begin_s - time.monotonic())):
            return False
        began_s = time.monotonic()
        before = self._look()
        if self._stopping.wait(max(0.0, last_s - time.monotonic())):
            return False
        ended_s = time.monotonic()
        after = self._look()
        if time.monotonic() <= turn.end_s:
            self._count(turn.arm, ended_s - began_s, before, after)
        return True

    def _look(self) -> dict[str, _Look]:
        found = {arm: _look(pid) for arm, pid in self._postmasters.items()}
        return {arm: look for arm, look in found.items() if look is not None}

    def _count(self, active: str, elapsed_s: float, before: Mapping[str, _Look], after: Mapping[str, _Look]) -> None:
        used = {arm: _between(before[arm], after[arm]) for arm in before.keys() & after.keys()}
        loaded = used.get(active)
        for arm, use in used.items():
            if arm == active:
                continue
            found = self._sums[arm]
            found.windows += 1
            found.elapsed_s += elapsed_s
            found.cpu_s += use.cpu_s
            found.others_cpu_s += loaded.cpu_s if loaded is not None else 0.0
            if use.io_bytes is None or loaded is None or loaded.io_bytes is None:
                found.io_known = False
            else:
                found.io_bytes += use.io_bytes
                found.others_io_bytes += loaded.io_bytes


def _look(postmaster: int) -> _Look | None:
    """All processes of one server, those included that have ended and were waited for; None when it is gone."""
    own, own_io = read_stat(postmaster), read_io(postmaster)
    if own is None:
        return None
    cpu_s = own.user_s + own.system_s + own.reaped_user_s + own.reaped_system_s
    io_bytes = own_io.read_bytes + own_io.write_bytes if own_io is not None else None
    for pid in children_of(postmaster):
        stat, io = read_stat(pid), read_io(pid)
        if stat is None or stat.parent != postmaster:
            continue
        cpu_s += stat.user_s + stat.system_s + stat.reaped_user_s + stat.reaped_system_s
        if io is None:
            io_bytes = None
        elif io_bytes is not None:
            io_bytes += io.read_bytes + io.write_bytes
    return _Look(cpu_s, io_bytes)


def _between(before: _Look, after: _Look) -> _Look:
    """Never below zero: a child that ends while we look is in neither sum for a moment."""
    io_bytes = None
    if before.io_bytes is not None and after.io_bytes is not None:
        io_bytes = max(0, after.io_bytes - before.io_bytes)
    return _Look(max(0.0, after.cpu_s - before.cpu_s), io_bytes)
