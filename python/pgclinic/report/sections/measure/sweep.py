"""A sweep: what a claim compares at every level, block by block, with the line through it and the published one.

Both axes are logarithmic, so that "x times the level gives y times the measure" is a straight line. Places across are
per cent of the picture's width, places down are pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.judge.block_means import fitted_ends, level_means
from pgclinic.model.study import Question, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.report.parts.tick import Tick
from pgclinic.report.sections.ladder.picture import GridLine
from pgclinic.report.words.figures import number, times
from pgclinic.report.words.verdicts import measure_words, measured_words

_TOP, _HEIGHT, _FOOT = 18.0, 200.0, 30.0
_LEFT, _RIGHT = 18.0, 94.0
_STEPS = (1.0, 2.0, 5.0)
_GRID_MAX = 6


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Slope:
    """A straight line from the lowest level to the highest."""

    left: float
    right: float
    y_left: float
    y_right: float


@dataclass(frozen=True)
class Sweep:
    """The picture, and ``rows`` with the means of all levels. ``fitted`` is None without a usable block."""

    height: float
    bottom: float
    grid: tuple[GridLine, ...]
    levels: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    fitted: Slope | None
    published: Slope | None
    axes: str
    description: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Points:
    """The levels that ran, and of each block the values at them."""

    arms: tuple[str, ...]
    levels: tuple[float, ...]
    blocks: tuple[tuple[int, tuple[float, ...]], ...]

    @property
    def middles(self) -> tuple[float, ...]:
        """The geometric mean of each level over the blocks."""
        return level_means([values for _, values in self.blocks])


@dataclass(frozen=True)
class _Axes:
    levels: tuple[float, float]
    values: tuple[float, float]

    def x(self, level: float) -> float:
        return round(_LEFT + _share(level, self.levels) * (_RIGHT - _LEFT), 3)

    def y(self, value: float) -> float:
        return round(_TOP + (1 - _share(value, self.values)) * _HEIGHT, 1)

    def line(self, first: float, last: float) -> Slope:
        left, right = self.levels
        return Slope(left=self.x(left), right=self.x(right), y_left=self.y(first), y_right=self.y(last))


def _share(value: float, ends: tuple[float, float]) -> float:
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0])


def sweep_of(study: Study, claim: Question, trials: Sequence[TrialRecord], verdict: ClaimVerdict) -> Sweep | None:
    """None for a claim about two arms, or where no block can be used."""
    points = _points(study, claim, trials, verdict)
    if points is None or verdict.interval is None:
        return None
    first, last = fitted_ends(points.levels, points.middles, verdict.interval.ratio)
    published_value = first * claim.published_ratio if claim.published_ratio is not None else None
    shown = [value for _, values in points.blocks for value in values] + [first, last]
    shown += [published_value] if published_value is not None else []
    axes = _Axes(
        levels=(points.levels[0], points.levels[-1]),
        values=(min(shown) / 1.15, max(shown) * 1.15),
    )
    return Sweep(
        height=_TOP + _HEIGHT + _FOOT,
        bottom=_TOP + _HEIGHT,
        grid=_grid(claim, axes),
        levels=tuple(Tick(at=axes.x(level), text=number(level)) for level in points.levels),
        dots=_dots(claim, points, axes),
        fitted=axes.line(first, last),
        published=axes.line(first, published_value) if published_value is not None else None,
        axes=f"{measure_words(claim)} by level, both axes logarithmic",
        description=_description(claim, points, verdict.interval.ratio),
        caption=f"The levels: {measure_words(claim)}, geometric mean of {len(points.blocks)} blocks",
        heads=("Arm", "Level", measure_words(claim), "Of the first", "On the line", "Published, of the first"),
        rows=_rows(claim, points, (first, last)),
    )


def _points(study: Study, claim: Question, trials: Sequence[TrialRecord], verdict: ClaimVerdict) -> _Points | None:
    ran = {trial.spec.arm for trial in trials}
    arms = tuple(arm for arm in claim.levels if arm in ran)
    levels = tuple(level for arm in arms if (level := study.arms[arm].level) is not None)
    blocks = tuple((block.block, block.values) for block in verdict.blocks if len(block.values) == len(arms))
    if len(arms) < 2 or len(levels) != len(arms) or not blocks:
        return None
    return _Points(arms=arms, levels=levels, blocks=blocks)


def _between(points: _Points, ends: tuple[float, float], level: float) -> float:
    """The value of a straight line, both axes logarithmic, at a level."""
    share = _share(level, (points.levels[0], points.levels[-1]))
    return ends[0] * math.exp(share * math.log(ends[1] / ends[0]))


def _dots(claim: Question, points: _Points, axes: _Axes) -> tuple[Dot, ...]:
    return tuple(
        Dot(x=axes.x(level), y=axes.y(value), text=f"{arm}, block {block}: {measured_words(claim, value)}")
        for block, values in points.blocks
        for arm, level, value in zip(points.arms, points.levels, values, strict=True)
    )


def _grid(claim: Question, axes: _Axes) -> tuple[GridLine, ...]:
    """Round values; powers of ten alone where there would be too many."""
    low, high = axes.values
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**power for power in powers for step in _STEPS]
    values = [value for value in values if low <= value <= high]
    if len(values) > _GRID_MAX:
        values = [10.0**power for power in powers if low <= 10.0**power <= high]
    return tuple(GridLine(y=axes.y(value), text=measured_words(claim, value)) for value in values)


def _rows(claim: Question, points: _Points, ends: tuple[float, float]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for arm, level, value in zip(points.arms, points.levels, points.middles, strict=True):
        published = claim.published_ratio
        published_cell = times(_between(points, (1.0, published), level)) if published is not None else "-"
        fitted = measured_words(claim, _between(points, ends, level))
        of_first = times(value / points.middles[0])
        rows.append((arm, number(level), measured_words(claim, value), of_first, fitted, published_cell))
    return tuple(rows)


def _description(claim: Question, points: _Points, ratio: float) -> str:
    """The text for readers who cannot see the picture."""
    means = "; ".join(
        f"level {number(level)}: {measured_words(claim, value)}"
        for level, value in zip(points.levels, points.middles, strict=True)
    )
    published_ratio = claim.published_ratio
    published = f", the published one to {times(published_ratio)}" if published_ratio is not None else ""
    return (
        f"{measure_words(claim)} by level, both axes logarithmic. Means: {means}. From the first level to the last the "
        f"line through all blocks goes to {times(ratio)}{published}."
    )
