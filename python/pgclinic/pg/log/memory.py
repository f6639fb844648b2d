"""Dumps of memory contexts (14 and later): many entries of one process, gathered until their grand total."""

from __future__ import annotations

import re

from pgclinic.model.log import ContextLine, LogEntry, LogOrigin, MemoryDump

_NUMBER = r"[0-9]{1,18}"
_BEGINS = re.compile(rf"logging memory contexts of PID ({_NUMBER})")
_SIZES = (
    rf"(?P<total>{_NUMBER}) (?:bytes|total) in (?P<blocks>{_NUMBER}) blocks"
    # A generation context counts its chunks there, a slab its empty blocks.
    rf"(?: \({_NUMBER} chunks\))?(?:; {_NUMBER} empty blocks)?; "
    rf"(?P<free>{_NUMBER}) free(?: \((?P<chunks>{_NUMBER}) chunks\))?; (?P<used>{_NUMBER}) used"
)
_CONTEXT = re.compile(rf"level: (?P<level>{_NUMBER}); (?P<name>.*?): {_SIZES}(?:: (?P<ident>.*))?", re.DOTALL)
_MORE = re.compile(rf"level: (?P<level>{_NUMBER}); (?P<more>{_NUMBER}) more child contexts containing {_SIZES}")
_GRAND_TOTAL = re.compile(rf"Grand total: {_SIZES}")
_NO_SIZES = {"total_bytes": 0, "total_blocks": 0, "free_bytes": 0, "free_chunks": 0, "used_bytes": 0}


def context_line(message: str) -> ContextLine | None:
    """One line of a dump: a context, or the sum of the children that were too many to list."""
    if more := _MORE.match(message):
        name = f"{more['more']} more child contexts"
        return ContextLine(level=int(more["level"]), name=name, ident=None, more=int(more["more"]), **_sizes(more))
    match = _CONTEXT.match(message)
    if match is None:
        return None
    return ContextLine(level=int(match["level"]), name=match["name"], ident=match["ident"], more=None, **_sizes(match))


class MemoryDumps:
    """The dumps that have begun and not ended yet. Lines of several processes may interleave."""

    def __init__(self) -> None:
        self._open: dict[int | None, tuple[LogOrigin, int, list[ContextLine]]] = {}

    def feed(self, entry: LogEntry) -> tuple[bool, MemoryDump | None]:
        """Whether the entry belongs to a dump, and the dump that it completes or cuts off."""
        pid = entry.origin.pid
        if begins := _BEGINS.match(entry.message):
            unfinished = self._cut_off(pid)
            self._open[pid] = (entry.origin, int(begins[1]), [])
            return True, unfinished
        if pid not in self._open:
            return False, None
        origin, dumped, lines = self._open[pid]
        if total := _GRAND_TOTAL.match(entry.message):
            del self._open[pid]
            dump = MemoryDump(origin=origin, dumped_pid=dumped, contexts=tuple(lines), complete=True, **_sizes(total))
            return True, dump
        line = context_line(entry.message)
        if line is None:
            return False, None
        lines.append(line)
        return True, None

    def cut_off(self) -> list[MemoryDump]:
        """What never got its grand total, and will not: the log has ended."""
        return [dump for pid in list(self._open) if (dump := self._cut_off(pid)) is not None]

    def _cut_off(self, pid: int | None) -> MemoryDump | None:
        if pid not in self._open:
            return None
        origin, dumped, lines = self._open.pop(pid)
        return MemoryDump(origin=origin, dumped_pid=dumped, contexts=tuple(lines), complete=False, **_NO_SIZES)


def _sizes(match: re.Match[str]) -> dict[str, int]:
    return {
        "total_bytes": int(match["total"]),
        "total_blocks": int(match["blocks"]),
        "free_bytes": int(match["free"]),
        "free_chunks": int(match["chunks"] or 0),
        "used_bytes": int(match["used"]),
    }
