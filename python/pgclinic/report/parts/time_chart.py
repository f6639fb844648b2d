"""A chart over time as the page's scripts draw it: lines, steps, a stack or a heat map, all on one axis of seconds.

A sample holds from one moment to another; between two that do not touch there is a gap. A chart of more samples than
there is room for is thinned: of each stretch of time the lowest and the highest value stay, so that no peak is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

import msgspec
from msgspec.structs import replace

Values = tuple[float | None, ...]
Shape = Literal["lines", "steps", "stack", "heat"]

#: A drawing shows no more points of a line than it has pixels; a page with many lines has fewer of each.
POINTS_MAX, POINTS_MIN, VALUES_MAX = 900, 120, 90_000


class ChartLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line or area. ``ink`` is a colour variable of the page without its dashes, ``mean`` stands in the legend.

    ``trial`` is that of a thin line behind the others, which is in no legend.
    """

    name: str
    ink: str
    values: Values
    mean: str = ""
    trial: int | None = None


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """Published windows of ``window_s`` seconds, drawn as dashed steps from second 0."""

    name: str
    window_s: float
    values: tuple[float, ...]


class Heat(msgspec.Struct, frozen=True, kw_only=True):
    """How many fell between two of ``edges``, a row for each sample: pairs of the lower edge's index and the number."""

    edges: tuple[float, ...]
    cells: tuple[tuple[tuple[int, int], ...], ...]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened ``count`` times by ``at_s``, after the sample before; ``words`` say what, if known."""

    kind: str
    at_s: float
    count: int
    words: str = ""


class TimeChart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart. Sample i holds from ``from_s[i]`` to ``to_s[i]``, seconds since measuring began.

    ``unit`` follows every value in the page, ``measured_in`` is its name in a file. ``span_s`` is the time that the
    chart is about, with the warm-up below 0. ``trial`` is the one whose marks are drawn, None for several trials.
    The lines of a stack are its parts, the lowest first. ``log`` asks for a logarithmic axis, on which 0 is a gap.
    ``samples`` is how many there were of all lines, before the chart was thinned to ``each_s`` seconds.
    """

    id: str
    title: str
    unit: str
    measured_in: str
    shape: Shape
    span_s: tuple[float, float]
    from_s: tuple[float, ...]
    to_s: tuple[float, ...]
    lines: tuple[ChartLine, ...] = ()
    steps: tuple[Steps, ...] = ()
    heat: Heat | None = None
    trial: int | None = None
    note: str = ""
    log: bool = False
    samples: int = 0
    each_s: int = 0

    @property
    def named(self) -> Iterator[tuple[int, ChartLine]]:
        """The lines of the legend with their places."""
        return ((place, line) for place, line in enumerate(self.lines) if line.trial is None)

    @property
    def has_trials(self) -> bool:
        return any(line.trial is not None for line in self.lines)

    @property
    def lone(self) -> bool:
        """A panel whose title says all of its only line."""
        return self.shape == "steps" and len(self.lines) == 1

    @property
    def stacked(self) -> bool:
        return self.shape == "stack"

    @property
    def thinned_words(self) -> str:
        return thinned_words((self,))


class DrawnCharts(msgspec.Struct, frozen=True, kw_only=True):
    """The charts of a section, and what happened during their trials, by the number of the trial."""

    charts: tuple[TimeChart, ...]
    marks: Mapping[int, tuple[Mark, ...]] = {}


def thinned_words(charts: Sequence[TimeChart]) -> str:
    """What is drawn of the samples of these charts; empty where it is all of them."""
    thin = [chart for chart in charts if chart.each_s]
    if not thin:
        return ""
    each_s = max(chart.each_s for chart in thin)
    if all(chart.heat is not None for chart in thin):
        return f"Each column is the sum of {each_s} s."
    drawn = sum(_known(line.values) for chart in thin for line in chart.lines)
    stacks = "; of a stack those with the lowest and the highest sum" if any(chart.stacked for chart in thin) else ""
    return (
        f"Drawn from {drawn:,} of {sum(chart.samples for chart in thin):,} samples: "
        f"the lowest and the highest of each {each_s} s{stacks}."
    )


def points_for(lines: int) -> int:
    """How many points each line of a section with this many lines may have."""
    return max(POINTS_MIN, min(POINTS_MAX, VALUES_MAX // max(1, lines)))


def thinned_all(charts: Sequence[TimeChart]) -> tuple[TimeChart, ...]:
    """The charts of a section, each with as many points as all of them together leave to it."""
    points = points_for(sum(max(1, len(chart.lines)) for chart in charts))
    return tuple(thinned(chart, points) for chart in charts)


def thinned(chart: TimeChart, points: int) -> TimeChart:
    """The same chart of at most about ``points`` samples, two for each stretch of whole seconds."""
    if len(chart.from_s) <= points or not chart.from_s:
        return chart
    each_s = math.ceil((chart.to_s[-1] - chart.from_s[0]) / (points // 2))
    groups = _stretches(chart, each_s)
    if chart.heat is not None:
        cells = tuple(_summed([chart.heat.cells[place] for place in places]) for places in groups)
        return replace(
            chart,
            from_s=tuple(chart.from_s[places[0]] for places in groups),
            to_s=tuple(chart.to_s[places[-1]] for places in groups),
            heat=replace(chart.heat, cells=cells),
            each_s=each_s,
        )
    columns = _stack_columns(chart, groups) if chart.stacked else _line_columns(chart, groups)
    from_s, to_s = zip(*(half for places in groups for half in _halves(chart, places)), strict=True)
    return replace(
        chart,
        from_s=from_s,
        to_s=to_s,
        lines=tuple(replace(line, values=values) for line, values in zip(chart.lines, columns, strict=True)),
        samples=sum(_known(line.values) for line in chart.lines),
        each_s=each_s,
    )


def _known(values: Values) -> int:
    return sum(value is not None for value in values)


def _stretches(chart: TimeChart, each_s: int) -> list[list[int]]:
    """The places of the samples that lie in each stretch; one that lies in two belongs to that of its middle."""

    def stretch(place: int) -> int:
        return math.floor((chart.from_s[place] + chart.to_s[place]) / 2 / each_s)

    return [list(places) for _, places in groupby(range(len(chart.from_s)), key=stretch)]


def _halves(chart: TimeChart, places: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Two samples for those of a stretch; a lone one stays as it is."""
    begin, end = chart.from_s[places[0]], chart.to_s[places[-1]]
    if len(places) == 1:
        yield begin, end
    else:
        middle = round((begin + end) / 2, 3)
        yield begin, middle
        yield middle, end


def _low_and_high(values: Values) -> tuple[int, ...]:
    """Where the lowest and the highest known value are, in order of time; of one sample, or none known, the ends."""
    known = [place for place, value in enumerate(values) if value is not None]
    if len(values) == 1 or not known:
        return (0, len(values) - 1)[: len(values)]
    return tuple(sorted(pick(known, key=lambda place: values[place] or 0.0) for pick in (min, max)))


def _line_columns(chart: TimeChart, groups: Sequence[Sequence[int]]) -> Iterator[Values]:
    for line in chart.lines:
        parts = [line.values[places[0] : places[-1] + 1] for places in groups]
        yield tuple(part[place] for part in parts for place in _low_and_high(part))


def _stack_columns(chart: TimeChart, groups: Sequence[Sequence[int]]) -> Iterator[Values]:
    """Parts that are drawn on each other must be of the same moment: those of the lowest and of the highest sum."""
    sums = tuple(sum(values) for values in zip(*([v or 0.0 for v in line.values] for line in chart.lines), strict=True))
    chosen = [places[0] + place for places in groups for place in _low_and_high(sums[places[0] : places[-1] + 1])]
    for line in chart.lines:
        yield tuple(line.values[place] for place in chosen)


def _summed(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[tuple[int, int], ...]:
    sums: dict[int, int] = {}
    for row in rows:
        for edge, number in row:
            sums[edge] = sums.get(edge, 0) + number
    return tuple(sorted(sums.items()))
