"""A ladder as a table for the terminal: one step per line, both figures, both slowdowns, and what changed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pgclinic.report.sections.ladder.steps import Fall, LadderStep

_INDENT = 2
_MOVED_MIN = 24

#: Name, group above it, whether figures stand flush right. The interval is the one that can be done without.
_COLUMNS = (
    ("step", "", False),
    ("published", "TPS", True),
    ("here", "", True),
    ("95 % CI", "", False),
    ("published", "slower by", True),
    ("here", "", True),
)
_INTERVAL = 3


def ladder_lines(ladder: Sequence[LadderStep], width: int) -> list[str]:
    """The table, in at most ``width`` columns; what changed is on lines of its own if there is no room beside."""
    rows = [_cells(ladder_step) for ladder_step in ladder]
    shown = list(range(len(_COLUMNS)))
    spaces = {index: max(len(_COLUMNS[index][0]), *(len(row[index]) for row in rows)) for index in shown}
    if _total(spaces, shown) > width:
        shown.remove(_INTERVAL)
    left = width - _total(spaces, shown) - 3
    beside = left >= _MOVED_MIN and any(ladder_step.cause for ladder_step in ladder)
    lines = [_group_line(spaces, shown), _line([name for name, _, _ in _COLUMNS], spaces, shown)]
    lines[1] += "   what changed" if beside else ""
    for ladder_step, row in zip(ladder, rows, strict=True):
        line = _line(row, spaces, shown)
        lines.extend(_with_cause(line, ladder_step.cause, beside_width=left if beside else None, width=width))
    return [line.rstrip() for line in lines]


def _cells(ladder_step: LadderStep) -> tuple[str, ...]:
    return (
        ladder_step.seen.arm,
        ladder_step.published_text,
        ladder_step.measured_text.replace("at most ", "≤"),
        ladder_step.limits_text,
        _fall(ladder_step.published),
        _fall(ladder_step.measured),
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
