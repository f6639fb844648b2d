"""The icicle: one row a level of memory contexts, each as wide as its share of all bytes, children below their parent.

Positions are per cent of the picture's width, so that it fits any screen without scaling its text. What a context
holds itself is where nothing hangs below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.model.memory import MemoryContext, changes
from pgclinic.report.sections.memory.groups import ContextGroup, grouped, signed_size, size
from pgclinic.report.words.figures import count, percent

ROW_HEIGHT = 34
#: Narrower than this, in per cent of the width, is not drawn: it is too small to be seen or touched.
_WIDTH_MIN = 0.15
#: From this width on there is room for a name.
_LABEL_WIDTH_MIN = 5.0
_NAMED_IN_DESCRIPTION = 3


@dataclass(frozen=True)
class Slab:
    """One group of contexts. ``left`` and ``width`` are per cent, ``top`` is in pixels; narrow ones have no ``label``.

    ``tone`` is ``grown`` or ``shrunk`` against an earlier picture, else ``same``.
    """

    left: float
    width: float
    top: int
    label: str
    amount: str
    text: str
    tone: str


@dataclass(frozen=True)
class Icicle:
    """``description`` is the text for readers who cannot see it; ``rows`` the same contexts as a table."""

    slabs: tuple[Slab, ...]
    height: int
    description: str
    rows: tuple[tuple[str, ...], ...]
    compared: bool


def icicle(root: MemoryContext, *, before: MemoryContext | None = None) -> Icicle:
    """Lay out a tree; against ``before`` what grew and what shrank is marked by name."""
    top = grouped(root)
    grown = {change.name: change.grown_bytes for change in changes(before, root)} if before is not None else {}
    slabs = tuple(_slabs(top, 0.0, 100.0 / max(top.total_bytes, 1), grown))
    shown = [group for group in top.walk() if group.total_bytes * 100 >= _WIDTH_MIN * max(top.total_bytes, 1)]
    return Icicle(
        slabs=slabs,
        height=ROW_HEIGHT * (1 + max((group.depth for group in shown), default=0)),
        description=_description(top),
        rows=tuple(_row(group, top) for group in shown),
        compared=before is not None,
    )


def _slabs(group: ContextGroup, left: float, per_byte: float, grown: dict[str, int]) -> Iterator[Slab]:
    width = group.total_bytes * per_byte
    if width < _WIDTH_MIN:
        return
    change = grown.get(group.name, 0)
    yield Slab(
        left=round(left, 3),
        width=round(width, 3),
        top=group.depth * ROW_HEIGHT,
        label=group.name if width >= _LABEL_WIDTH_MIN else "",
        amount=size(group.total_bytes),
        text=_text(group, change),
        tone="grown" if change > 0 else "shrunk" if change < 0 else "same",
    )
    for child in group.children:
        yield from _slabs(child, left, per_byte, grown)
        left += child.total_bytes * per_byte


def _text(group: ContextGroup, change: int) -> str:
    parts = [f"{group.name}: {size(group.total_bytes)} in {count(group.contexts, 'context')}"]
    if group.children:
        parts.append(f"{size(group.own_bytes)} without the contexts inside")
    if change:
        parts.append(f"change of all contexts of this name {signed_size(change)}")
    return ", ".join(parts)


def _row(group: ContextGroup, top: ContextGroup) -> tuple[str, ...]:
    return (
        "\u2003" * group.depth + group.name,
        f"{group.contexts:,}",
        size(group.total_bytes),
        size(group.used_bytes),
        size(group.own_bytes),
        percent(group.total_bytes / max(top.total_bytes, 1)),
    )


def _description(top: ContextGroup) -> str:
    largest = top.children[:_NAMED_IN_DESCRIPTION]
    named = ", ".join(f"{group.name} with {size(group.total_bytes)}" for group in largest)
    below = f" The largest inside: {named}." if named else ""
    return f"{top.name} and all contexts inside hold {size(top.total_bytes)}.{below} The table below lists all."
