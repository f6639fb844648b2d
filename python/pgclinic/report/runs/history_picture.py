"""One figure over the runs: a dot for each with its 95 % CI, the mean between changes, and a line at each change.

Runs stand at equal distances, as the method sees them. Places across are per cent of the picture's width, places down
are pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.history import FigureHistory, FigureUnit
from pgclinic.model.output import RunOutput
from pgclinic.report.parts.tick import Tick
from pgclinic.report.runs.history import figure_label, figure_words, unit_words
from pgclinic.report.runs.history_text import point_words, run_name, when
from pgclinic.report.words.figures import count

_TOP, _BOTTOM, _FOOT = 14.0, 164.0, 26.0
#: The first and the last run; the scale's figures stand on the left.
_LEFT, _RIGHT = 18.0, 97.0
_ROOM = 0.08
_TICKS = 5
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class RunDot:
    """One run; ``low`` and ``high`` are the ends of its interval, None without one."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class MeanLevel:
    """The mean of the runs between two changes."""

    left: float
    right: float
    y: float


@dataclass(frozen=True)
class ChangeMark:
    """A change, between two runs; ``number`` is its place in the list below the picture."""

    x: float
    number: int
    turn: str
    text: str


@dataclass(frozen=True)
class HistoryPicture:
    """``grid`` is from below to above; ``first`` and ``last`` are the times of the runs at both ends."""

    dots: tuple[RunDot, ...]
    levels: tuple[MeanLevel, ...]
    marks: tuple[ChangeMark, ...]
    grid: tuple[Tick, ...]
    first: Tick
    last: Tick
    top: float
    bottom: float
    height: float
    description: str


class _RunPlaces:
    """From a run and a value to places on the picture."""

    def __init__(self, figure: FigureHistory, runs: int) -> None:
        ends = [end for point in figure.points for end in (point.value, point.low, point.high) if end is not None]
        room = (max(ends) - min(ends)) * _ROOM or abs(max(ends)) * _ROOM or 1.0
        self.low, self.high = min(ends) - room, max(ends) + room
        self._runs = runs
        # There are no half findings.
        self._step_min = 1.0 if figure.unit is FigureUnit.FINDINGS else 0.0

    def x(self, run: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * (run / (self._runs - 1) if self._runs > 1 else 0.5), 3)

    def y(self, value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - self.low) / (self.high - self.low), 2)

    def ticks(self) -> list[float]:
        """A few round values."""
        rough = (self.high - self.low) / _TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = max(next(unit * one for one in _STEPS if unit * one >= rough), self._step_min)
        return [step * place for place in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def history_picture(figure: FigureHistory, runs: Sequence[RunOutput]) -> HistoryPicture:
    """Lay out one figure of a series with these runs."""
    places = _RunPlaces(figure, len(runs))
    return HistoryPicture(
        dots=tuple(
            RunDot(
                x=places.x(point.run),
                y=places.y(point.value),
                low=places.y(point.low) if point.low is not None else None,
                high=places.y(point.high) if point.high is not None else None,
                text=f"{when(runs[point.run])}, {run_name(runs[point.run])}: {point_words(figure, point)}",
            )
            for point in figure.points
        ),
        levels=tuple(_levels(figure, places)),
        marks=tuple(
            ChangeMark(places.x((change.run_before + change.run) / 2), number, change.turn.value, f"change {number}")
            for number, change in enumerate(figure.changes, start=1)
        ),
        grid=tuple(
            Tick(at=places.y(value), text=f"{figure_words(figure, value)}{unit_words(figure)}")
            for value in places.ticks()
        ),
        first=Tick(at=places.x(0), text=when(runs[0])[:10]),
        last=Tick(at=places.x(len(runs) - 1), text=when(runs[-1])[:10]),
        top=_TOP,
        bottom=_BOTTOM,
        height=_BOTTOM + _FOOT,
        description=(
            f"{figure_label(figure)} of {count(len(figure.points), 'run')}, the oldest on the left, with "
            f"{count(len(figure.changes), 'change')}. The figures are in the table of the runs."
        ),
    )


def _levels(figure: FigureHistory, places: _RunPlaces) -> Iterator[MeanLevel]:
    """Only where there is a change: one line through all runs says nothing."""
    if not figure.changes:
        return
    starts = [figure.points[0].run, *(change.run for change in figure.changes)]
    ends = [*(change.run_before for change in figure.changes), figure.points[-1].run]
    means = [figure.changes[0].before, *(change.after for change in figure.changes)]
    for start, end, mean in zip(starts, ends, means, strict=True):
        yield MeanLevel(
            left=max(places.x(start - 0.4), _LEFT - 1), right=min(places.x(end + 0.4), 100.0), y=places.y(mean)
        )
