"""Memory contexts as people look at them: siblings of one name together, and sizes in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pgclinic.model.memory import MemoryContext
from pgclinic.report.words.figures import number

#: Deeper than this is added to the context above: a picture has an end, a tree may have none.
DEPTH_MAX = 12
#: To be said where ``leaves_names_out`` is true.
NAMES_LEFT_OUT = "the server lists at most 100 children of one context; the others are counted in “more child contexts”"


@dataclass(frozen=True)
class ContextGroup:
    """Contexts of one name below one parent, such as the ``index info`` of all indexes.

    ``own_bytes`` are theirs alone; ``total_bytes`` and ``used_bytes`` include everything below them.
    """

    name: str
    depth: int
    contexts: int
    own_bytes: int
    total_bytes: int
    used_bytes: int
    children: tuple[ContextGroup, ...]

    def walk(self) -> Iterator[ContextGroup]:
        """This group and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def grouped(root: MemoryContext) -> ContextGroup:
    """The tree with siblings of one name put together, the largest first."""
    return _group((root,), 0)


def size(amount: int) -> str:
    """Bytes in words, as PostgreSQL counts them: 96 kB, 1.8 MB, 2.1 GB; 512 bytes stay bytes."""
    for unit, each in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if abs(amount) >= each:
            return f"{number(amount / each)} {unit}"
    return f"{amount} B"


def signed_size(amount: int) -> str:
    """A change of bytes: +12 kB, -1.8 MB."""
    return f"{'+' if amount > 0 else ''}{size(amount)}"


def _group(contexts: tuple[MemoryContext, ...], depth: int) -> ContextGroup:
    sums = [context.sum() for context in contexts]
    children: tuple[ContextGroup, ...] = ()
    if depth + 1 < DEPTH_MAX:
        below = (child for context in contexts for child in context.children)
        groups = (_group(tuple(same), depth + 1) for same in _by_name(below).values())
        children = tuple(sorted(groups, key=lambda group: (-group.total_bytes, group.name)))
    return ContextGroup(
        name=contexts[0].name,
        depth=depth,
        contexts=sum(context.more or 1 for context in contexts),
        own_bytes=sum(context.total_bytes for context in contexts),
        total_bytes=sum(each.total_bytes for each in sums),
        used_bytes=sum(each.used_bytes for each in sums),
        children=children,
    )


def _by_name(contexts: Iterable[MemoryContext]) -> dict[str, list[MemoryContext]]:
    found: dict[str, list[MemoryContext]] = {}
    for context in contexts:
        found.setdefault(context.name, []).append(context)
    return found
