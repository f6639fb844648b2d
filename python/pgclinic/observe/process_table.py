"""The use that all processes of a server on this machine make of it, by kind: cheap enough for once a second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from pgclinic.errors import ServerLostError
from pgclinic.model.decoding import converted
from pgclinic.model.processes import KindRow, ProcessKind, ProcessRow, ProcessSample, ProcessUse
from pgclinic.observe.proc_files import (
    ProcessIo,
    Stat,
    Status,
    children_of,
    read_io,
    read_run_time,
    read_stat,
    read_status,
    read_title,
)
from pgclinic.observe.processes import cpu_pressure
from pgclinic.samples.process_kinds import kind_of

_NO_USE = ProcessUse()
_FIELDS = ProcessUse.__struct_fields__
# The process's id and its start, in clock ticks after boot: an id may be used again.
_Identity = tuple[int, int]


@dataclass(frozen=True)
class _Child:
    """``run_time`` is as it was before the rest was read."""

    identity: _Identity
    run_time: str | None
    row: ProcessRow


class ProcessTable:
    """Adds up what the processes of one server use, from look to look.

    What a process used between the last look at it and its end is told by the postmaster, to which the kernel hands
    the figures of children that it has waited for; that part has a kind of its own. (Context switches are not handed
    on.) So no use of CPU, of reads and writes and of faults is missing from the sum over all kinds.
    """

    def __init__(self, postmaster_pid: int) -> None:
        self._postmaster = postmaster_pid
        self._last: dict[_Identity, ProcessRow] = {}
        self._children: dict[int, _Child] = {}
        self._sums: dict[ProcessKind, ProcessUse] = {}
        self._seen: Counter[ProcessKind] = Counter()
        self._known_of_ended = _NO_USE
        self._hidden: set[ProcessKind] = set()
        self._own: ProcessRow | None = None

    def sample(self) -> ProcessSample:
        """Look at all processes now. Raises ServerLostError when the postmaster is gone."""
        # The postmaster first: a child that ends while we look is then counted next time, and not twice.
        postmaster, handed_on = _look_at_postmaster(self._postmaster)
        self._children = _look_at_children(self._postmaster, self._children)
        children = {child.identity: child.row for child in self._children.values()}
        self._count(postmaster, self._own)
        for identity, row in children.items():
            self._count(row, self._last.get(identity))
        for identity in self._last.keys() - children.keys():
            self._known_of_ended = _plus(self._known_of_ended, self._last[identity].use)
        unseen = _minus(handed_on, self._known_of_ended)
        # A child that has ended and was not yet waited for makes it too small for a moment; the largest figure stands.
        self._sums[ProcessKind.ENDED] = _larger(self._sums.get(ProcessKind.ENDED, _NO_USE), unseen)
        self._own, self._last = postmaster, children
        pressure = cpu_pressure()
        return ProcessSample(
            at_s=time.time(),
            kinds=self._rows((postmaster, *children.values())),
            pressure_some_us=None if pressure is None else pressure.some_us,
        )

    def _count(self, row: ProcessRow, before: ProcessRow | None) -> None:
        if row is before:
            return
        used = row.use if before is None else _minus(row.use, before.use)
        self._sums[row.kind] = _plus(self._sums.get(row.kind, _NO_USE), used)
        if before is None or before.kind is not row.kind:
            self._seen[row.kind] += 1

    def _rows(self, found: Iterable[ProcessRow]) -> tuple[KindRow, ...]:
        alive: dict[ProcessKind, list[ProcessRow]] = {}
        for row in found:
            alive.setdefault(row.kind, []).append(row)
            if not row.io_known:
                self._hidden.add(row.kind)
        return tuple(
            KindRow(
                kind=kind,
                alive=len(alive.get(kind, [])),
                seen=self._seen[kind],
                use=self._sums[kind],
                rss_anon_bytes=sum(row.rss_anon_bytes for row in alive.get(kind, [])),
                io_known=kind not in self._hidden,
            )
            for kind in ProcessKind
            if kind in self._sums
        )


def processes_now(postmaster_pid: int) -> tuple[ProcessRow, ...]:
    """All processes of a server as they are now, the postmaster first. Raises ServerLostError when it is gone."""
    postmaster, _ = _look_at_postmaster(postmaster_pid)
    children = _look_at_children(postmaster_pid, {})
    return (postmaster, *(children[pid].row for pid in sorted(children)))


def _look_at_postmaster(pid: int) -> tuple[ProcessRow, ProcessUse]:
    """Its own use, and what its ended children have handed on to it.

    Its own reads and writes, hardly any after its start, cannot be told from theirs and stand among them.
    """
    stat, status, io = read_stat(pid), read_status(pid), read_io(pid)
    if stat is None or status is None:
        raise ServerLostError(f"process {pid} is gone")
    row = ProcessRow(
        pid=pid,
        kind=ProcessKind.POSTMASTER,
        title=read_title(pid) or "",
        use=_own_use(stat, status),
        rss_anon_bytes=status.rss_anon_bytes or 0,
        io_known=io is not None,
    )
    return row, _handed_on(stat, io)


def _look_at_children(postmaster_pid: int, known: dict[int, _Child]) -> dict[int, _Child]:
    """All children by process id. Of thousands most sleep: who did not run since it was seen is as it was."""
    children = {}
    for pid in children_of(postmaster_pid):
        run_time, before = read_run_time(pid), known.get(pid)
        if before is not None and run_time is not None and before.run_time == run_time:
            children[pid] = before
        elif (child := _look_at_child(pid, postmaster_pid, run_time)) is not None:
            children[pid] = child
    return children


def _look_at_child(pid: int, postmaster_pid: int, run_time: str | None) -> _Child | None:
    stat, status, title, io = read_stat(pid), read_status(pid), read_title(pid), read_io(pid)
    # An id that was used again meanwhile is somebody else's child. One that has ended has no title any more.
    if stat is None or status is None or not title or stat.parent != postmaster_pid:
        return None
    row = ProcessRow(
        pid=pid,
        kind=kind_of(title),
        title=title,
        # With its own children, such as an archive command, once it has waited for them.
        use=_plus(_own_use(stat, status), _handed_on(stat, io)),
        rss_anon_bytes=status.rss_anon_bytes or 0,
        io_known=io is not None,
    )
    return _Child(identity=(pid, stat.started_ticks), run_time=run_time, row=row)


def _own_use(stat: Stat, status: Status) -> ProcessUse:
    return ProcessUse(
        user_s=stat.user_s,
        system_s=stat.system_s,
        minor_faults=stat.minor_faults,
        major_faults=stat.major_faults,
        voluntary_switches=status.voluntary_switches,
        involuntary_switches=status.involuntary_switches,
    )


def _handed_on(stat: Stat, io: ProcessIo | None) -> ProcessUse:
    """The use of ended children. For reads and writes the kernel has one sum for them and the process itself."""
    use = ProcessUse(
        user_s=stat.reaped_user_s,
        system_s=stat.reaped_system_s,
        minor_faults=stat.reaped_minor_faults,
        major_faults=stat.reaped_major_faults,
    )
    return use if io is None else msgspec.structs.replace(use, **vars(io))


def _plus(one: ProcessUse, other: ProcessUse) -> ProcessUse:
    return converted({name: getattr(one, name) + getattr(other, name) for name in _FIELDS}, ProcessUse)


def _minus(one: ProcessUse, other: ProcessUse) -> ProcessUse:
    """Never below zero: the kernel rounds CPU times of the two separately."""
    return converted({name: max(0, getattr(one, name) - getattr(other, name)) for name in _FIELDS}, ProcessUse)


def _larger(one: ProcessUse, other: ProcessUse) -> ProcessUse:
    return converted({name: max(getattr(one, name), getattr(other, name)) for name in _FIELDS}, ProcessUse)
