"""A table of cells that are already in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageTable:
    """Cells are words already."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
