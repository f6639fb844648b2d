"""The memory contexts of a backend as it writes them to the server's log, read back into a tree.

A dump is one line a context, parents first, each with its depth: from 0 until PostgreSQL 17, from 1 since 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pgclinic.model.memory import MemoryContext, MemorySum
from pgclinic.pg.log.memory import context_line as logged_context

#: What a dump calls the contexts that it only counts. The server names at most 100 children of one parent.
MORE_NAME = "more child contexts"

_GRAND_TOTAL = re.compile(
    r"Grand total: (?P<total>\d{1,18}) bytes in (?P<blocks>\d{1,18}) blocks; "
    r"(?P<free>\d{1,18}) free \((?P<chunks>\d{1,18}) chunks\); (?P<used>\d{1,18}) used"
)


@dataclass(frozen=True)
class DumpedContext:
    """One context without its children, and how deep it stands."""

    level: int
    context: MemoryContext


@dataclass
class _Node:
    context: MemoryContext
    children: list[_Node] = field(default_factory=list)


def context_line(message: str) -> DumpedContext | None:
    """Read one message of a dump; None for any other message."""
    line = logged_context(message)
    if line is None:
        return None
    context = MemoryContext(
        name=MORE_NAME if line.more else line.name,
        ident=line.ident,
        total_bytes=line.total_bytes,
        used_bytes=line.used_bytes,
        free_bytes=line.free_bytes,
        blocks=line.total_blocks,
        free_chunks=line.free_chunks,
        more=line.more or 0,
    )
    return DumpedContext(level=line.level, context=context)


def grand_total(message: str) -> MemorySum | None:
    """Read the message that ends a dump; None for any other message."""
    match = _GRAND_TOTAL.fullmatch(message)
    if match is None:
        return None
    return MemorySum(
        total_bytes=int(match["total"]),
        used_bytes=int(match["used"]),
        free_bytes=int(match["free"]),
        blocks=int(match["blocks"]),
        free_chunks=int(match["chunks"]),
    )


def context_tree(lines: Iterable[DumpedContext]) -> MemoryContext | None:
    """The tree whose contexts come parents first; None for no lines.

    A line hangs below the last one that is a level higher. Lines that have no such parent, as in a dump whose
    beginning is lost, hang below the first.
    """
    root: _Node | None = None
    at: dict[int, _Node] = {}
    for line in lines:
        node = _Node(line.context)
        if root is None:
            root = node
        else:
            (_truncated(at, line.level) if line.context.more else at.get(line.level - 1, root)).children.append(node)
            if line.context.more:
                continue
        at = {level: known for level, known in at.items() if level < line.level}
        at[line.level] = node
    return None if root is None else _frozen(root)


def last_dump(messages: Iterable[str]) -> tuple[MemoryContext, MemorySum] | None:
    """The last complete dump among one process's messages, with the server's own sum; None when there is none."""
    found = None
    lines: list[DumpedContext] = []
    for message in messages:
        line = context_line(message)
        if line is not None:
            if line.context.name == "TopMemoryContext":
                lines = []
            lines.append(line)
        elif (total := grand_total(message)) is not None:
            root = context_tree(lines)
            if root is not None:
                found = (root, total)
            lines = []
    return found


def _truncated(at: dict[int, _Node], level: int) -> _Node:
    """The parent whose children were cut off.

    The line that says so carries the level of that parent (seen from 14 to 18) although it stands where a child would
    stand. Should a server ever give it the children's level, the parent is still the one that has them.
    """
    candidates = [at[known] for known in (level, level - 1) if known in at]
    # A dump that begins with such a line has made it the root.
    return max(candidates or list(at.values()), key=lambda node: len(node.children))


def _frozen(root: _Node) -> MemoryContext:
    """Records are built from the leaves up; without recursion, for the depth is the server's."""
    order = [root]
    for node in order:
        order.extend(node.children)
    done: dict[int, MemoryContext] = {}
    for node in reversed(order):
        children = tuple(done.pop(id(child)) for child in node.children)
        done[id(node)] = _with_children(node.context, children)
    return done[id(root)]


def _with_children(context: MemoryContext, children: tuple[MemoryContext, ...]) -> MemoryContext:
    if not children:
        return context
    return MemoryContext(
        name=context.name,
        ident=context.ident,
        kind=context.kind,
        total_bytes=context.total_bytes,
        used_bytes=context.used_bytes,
        free_bytes=context.free_bytes,
        blocks=context.blocks,
        free_chunks=context.free_chunks,
        more=context.more,
        children=children,
    )
