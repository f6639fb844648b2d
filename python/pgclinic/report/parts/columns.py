"""Rows of cells as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def in_columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The first column flush left, all others flush right, as figures are read."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + row[0].ljust(widths[0])
        + "".join(f"   {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]


def indented_columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    for row in rows:
        yield ("    " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
