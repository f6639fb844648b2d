"""What one process of a server keeps in memory: its tree of memory contexts, and the kernel's view of it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from pgclinic.model.record import Record


class MemoryContext(Record):
    """One memory context of a backend with those below it. Bytes are its own, without its children's.

    ``free_bytes`` stand in ``free_chunks`` pieces and at the end of its blocks. ``ident`` tells contexts of one name
    apart, such as the index of an ``index info``. ``kind`` is the allocator where the server tells it (18 and newer).
    ``more`` is 0, or the number of contexts that a dump summed up in one line instead of naming them.
    """

    name: str
    total_bytes: int
    used_bytes: int
    free_bytes: int
    blocks: int
    free_chunks: int
    ident: str | None = None
    kind: str | None = None
    more: int = 0
    children: tuple[MemoryContext, ...] = ()

    def walk(self) -> Iterator[MemoryContext]:
        """This context and all below it, parents first."""
        # Not by recursion: nothing bounds the depth of what a server reports.
        waiting = [self]
        while waiting:
            context = waiting.pop()
            yield context
            waiting.extend(reversed(context.children))

    def sum(self) -> MemorySum:
        """This context and everything below it."""
        total = used = free = blocks = chunks = contexts = 0
        for context in self.walk():
            total += context.total_bytes
            used += context.used_bytes
            free += context.free_bytes
            blocks += context.blocks
            chunks += context.free_chunks
            contexts += context.more or 1
        return MemorySum(
            total_bytes=total,
            used_bytes=used,
            free_bytes=free,
            blocks=blocks,
            free_chunks=chunks,
            contexts=contexts,
        )


class MemorySum(Record):
    """Sums over contexts. ``contexts`` is None where the server gave the sums and not their number."""

    total_bytes: int
    used_bytes: int
    free_bytes: int
    blocks: int
    free_chunks: int
    contexts: int | None = None


class MemorySource(str, Enum):
    """Where a tree was read: the backend's own view, or its dump in the server's log."""

    VIEW = "view"
    LOG = "log"


class ProcessMemory(Record):
    """Memory of one process as the kernel counts it, in bytes.

    ``rss_anon_bytes`` is what the process has for itself; ``pss_bytes`` includes its share of shared memory, None
    where the kernel does not tell.
    """

    rss_anon_bytes: int
    pss_bytes: int | None = None


class MemorySnapshot(Record):
    """The memory of one process at ``at_s`` (epoch seconds). ``title`` is what the process calls itself.

    ``unread_bytes`` is what the server's own sum holds beyond ``root``: 0 unless lines of the dump were lost.
    ``process`` and ``title`` are None for a server on another machine.
    """

    pid: int
    at_s: float
    source: MemorySource
    root: MemoryContext
    unread_bytes: int = 0
    title: str | None = None
    process: ProcessMemory | None = None


class ContextChange(Record):
    """How all contexts of one name changed between two snapshots. Bytes are their own, without their children's."""

    name: str
    before_contexts: int
    after_contexts: int
    before_bytes: int
    after_bytes: int

    @property
    def grown_bytes(self) -> int:
        """Negative when they shrank."""
        return self.after_bytes - self.before_bytes


def changes(before: MemoryContext, after: MemoryContext) -> tuple[ContextChange, ...]:
    """What grew and shrank by context name, the largest change first; names that kept their size are left out.

    Contexts that a dump only counted (see ``leaves_names_out``) are missing under their own names.
    """
    old, new = _by_name(before), _by_name(after)
    found = []
    for name in old.keys() | new.keys():
        (old_contexts, old_bytes), (new_contexts, new_bytes) = old.get(name, (0, 0)), new.get(name, (0, 0))
        if old_bytes != new_bytes:
            found.append(
                ContextChange(
                    name=name,
                    before_contexts=old_contexts,
                    after_contexts=new_contexts,
                    before_bytes=old_bytes,
                    after_bytes=new_bytes,
                )
            )
    return tuple(sorted(found, key=lambda change: (-abs(change.grown_bytes), change.name)))


def leaves_names_out(root: MemoryContext) -> bool:
    """Whether some contexts were only counted, as in a dump, which names at most 100 children of one context."""
    return any(context.more for context in root.walk())


def _by_name(root: MemoryContext) -> dict[str, tuple[int, int]]:
    """Number and own bytes of the contexts of each name."""
    found: dict[str, tuple[int, int]] = {}
    for context in root.walk():
        contexts, total = found.get(context.name, (0, 0))
        found[context.name] = (contexts + (context.more or 1), total + context.total_bytes)
    return found
