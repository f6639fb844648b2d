"""Bars on a logarithmic axis: from where to where, with the limits of an interval.

Positions are per cent of the picture's width, so that it fits any screen without scaling its text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgclinic.report.parts.tick import Tick
from pgclinic.report.words.effects import interval_words
from pgclinic.report.words.figures import number

_ROW_HEIGHT = 30
#: A range narrower than this is shown with room on both sides.
_RANGE_MIN = math.log(1.5)
_ROOM = 0.06
_TICKS_MAX = 7


@dataclass(frozen=True)
class Bar:
    """``left`` and ``width`` are per cent; ``low`` and ``high`` the ends of its interval, None without one.

    ``tone`` is ``slower``, ``faster`` or ``rest``.
    """

    label: str
    text: str
    left: float
    width: float
    tone: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bars:
    """``description`` is the text for readers who cannot see it."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    row_height: int
    description: str


@dataclass(frozen=True)
class BarRow:
    label: str
    text: str
    begin: float
    end: float
    low: float | None = None
    high: float | None = None
    is_rest: bool = False


def bars_of(rows: Sequence[BarRow], title: str, unit: str) -> Bars | None:
    edges = [
        value for row in rows for value in (row.begin, row.end, row.low, row.high) if value is not None and value > 0
    ]
    if not rows or not edges:
        return None
    least, most = math.log(min(edges)), math.log(max(edges))
    short = max(_RANGE_MIN - (most - least), 0.0) / 2
    room = _ROOM * (most - least + 2 * short)
    least, most = least - short - room, most + short + room

    def place(value: float) -> float:
        return round(100 * (math.log(value) - least) / (most - least), 2)

    bars = tuple(_bar(row, place) for row in rows if row.begin > 0 and row.end > 0)
    return Bars(
        bars=bars,
        ticks=tuple(Tick(place(value), f"{number(value)}{unit}") for value in _ticks(math.exp(least), math.exp(most))),
        row_height=_ROW_HEIGHT,
        description=f"{title}. " + "; ".join(_words(row) for row in rows) + ".",
    )


def _bar(row: BarRow, place: Callable[[float], float]) -> Bar:
    ends = sorted((place(row.begin), place(row.end)))
    tone = "rest" if row.is_rest else "slower" if row.end < row.begin else "faster"
    return Bar(
        label=row.label,
        text=row.text,
        left=ends[0],
        width=max(round(ends[1] - ends[0], 2), 0.3),
        tone=tone,
        low=place(row.low) if row.low else None,
        high=place(row.high) if row.high else None,
    )


def _words(row: BarRow) -> str:
    limits = f", 95 % CI {interval_words((row.low, row.high))}" if row.low is not None and row.high is not None else ""
    return f"{row.label}: {row.text}{limits}"


def _ticks(least: float, most: float) -> list[float]:
    """Powers of ten, or their halves and fifths where the range is short."""
    for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)):
        first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [value for value in found if least <= value <= most]
        if len(inside) >= 3:
            return inside[:: math.ceil(len(inside) / _TICKS_MAX)]
    return inside
