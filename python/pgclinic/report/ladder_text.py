"""A ladder as a table for the terminal: a rung a line, both figures, both falls, and what moved."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pgclinic.report.ladder import Fall, Rung

_INDENT = 2
_MOVED_MIN = 24

#: Name, group above it, whether figures stand flush right. The interval is the one that can be done without.
_COLUMNS = (
    ("rung", "", False),
    ("published", "TPS", True),
    ("here", "", True),
    ("95 % interval", "", False),
    ("published", "slower by", True),
    ("here", "", True),
)
_INTERVAL = 3


def ladder_lines(rungs: Sequence[Rung], width: int) -> list[str]:
    """The table, in at most ``width`` columns; what moved goes on lines of its own where there is no room beside."""
    rows = [_cells(rung) for rung in rungs]
    shown = list(range(len(_COLUMNS)))
    spaces = {index: max(len(_COLUMNS[index][0]), *(len(row[index]) for row in rows)) for index in shown}
    if _total(spaces, shown) > width:
        shown.remove(_INTERVAL)
    left = width - _total(spaces, shown) - 3
    beside = left >= _MOVED_MIN and any(rung.cause for rung in rungs)
    lines = [_group_line(spaces, shown), _line([name for name, _, _ in _COLUMNS], spaces, shown)]
    lines[1] += "   what moved" if beside else ""
    for rung, row in zip(rungs, rows, strict=True):
        line = _line(row, spaces, shown)
        lines.extend(_with_cause(line, rung.cause, beside_width=left if beside else None, width=width))
    return [line.rstrip() for line in lines]


def _cells(rung: Rung) -> tuple[str, ...]:
    return (
        rung.seen.arm,
        rung.published_text,
        rung.measured_text.replace("at most ", "≤"),
        rung.limits_text,
        _fall(rung.published),
        _fall(rung.measured),
    )


def _fall(fall: Fall | None) -> str:
    return fall.short if fall is not None else ""


def _total(spaces: dict[int, int], shown: Sequence[int]) -> int:
    return _INDENT + sum(spaces[index] for index in shown) + 2 * (len(shown) - 1)


def _line(cells: Sequence[str], spaces: dict[int, int], shown: Sequence[int]) -> str:
    placed = (
        cells[index].rjust(spaces[index]) if _COLUMNS[index][2] else cells[index].ljust(spaces[index])
        for index in shown
    )
    return " " * _INDENT + "  ".join(placed)


def _group_line(spaces: dict[int, int], shown: Sequence[int]) -> str:
    """Group names, each above the first column of its group."""
    return _line([group for _, group, _ in _COLUMNS], spaces, shown)


def _with_cause(line: str, cause: str, *, beside_width: int | None, width: int) -> Iterator[str]:
    if not cause:
        yield line
        return
    if beside_width is None:
        yield line
        yield from (" " * (_INDENT + 2) + part for part in textwrap.wrap(cause, width - _INDENT - 2))
        return
    parts = textwrap.wrap(cause, beside_width)
    yield f"{line}   {parts[0]}"
    yield from (" " * (len(line) + 3) + part for part in parts[1:])
