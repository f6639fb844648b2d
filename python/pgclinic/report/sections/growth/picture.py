"""The picture of a growth: time per call by size on two logarithmic axes, one line for each statement. Pure.

Positions are per cent of the picture's width and height, so that it fits any screen without scaling its text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgclinic.model.grow import GrownStatement, GrowthForecast
from pgclinic.report.parts.tick import Tick
from pgclinic.report.sections.growth.text import interval_words, short, shown_statements, target
from pgclinic.report.words.figures import number

#: As many lines as there are colours that stay apart.
LINES_MAX = 6
_MARGIN = 1.15
_DECADES_MAX = 8


@dataclass(frozen=True)
class SizeDot:
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class GrowthLine:
    """One statement. ``fitted`` goes through the twins, ``beyond`` from the largest one to the target.

    ``fan`` is the interval there, as the points of a polygon in per cent.
    """

    index: int
    name: str
    value: str
    dots: tuple[SizeDot, ...]
    fitted: tuple[tuple[float, float, float, float], ...]
    beyond: tuple[float, float, float, float] | None
    limits: tuple[float, float, float] | None


@dataclass(frozen=True)
class GrowthPicture:
    lines: tuple[GrowthLine, ...]
    sizes: tuple[Tick, ...]
    factors: tuple[Tick, ...]
    description: str


def growth_picture(found: GrowthForecast) -> GrowthPicture | None:
    """Time per call as a multiple of that at the smallest size; None without statements."""
    statements = shown_statements(found)[:LINES_MAX]
    if not statements:
        return None
    sizes = sorted({one.size for statement in statements for one in statement.measured} | {1.0, found.to})
    factors = [1.0]
    for statement in statements:
        factors += [one.time_ms / _base(statement) for one in statement.measured]
        factors += [statement.time.at_to.value]
    scale = _LogAxes(sizes[0], sizes[-1], min(factors) / _MARGIN, max(factors) * _MARGIN)
    return GrowthPicture(
        lines=tuple(_line(index, one, found, scale) for index, one in enumerate(statements)),
        sizes=tuple(Tick(at=scale.x(size), text=f"{size:g}x") for size in sizes),
        factors=tuple(Tick(at=scale.y(value), text=f"{value:g}x") for value in _round(scale)),
        description=_description(statements, found),
    )


@dataclass(frozen=True)
class _LogAxes:
    left: float
    right: float
    low: float
    high: float

    def x(self, size: float) -> float:
        return round(100 * math.log(size / self.left) / math.log(self.right / self.left), 3)

    def y(self, factor: float) -> float:
        at = 100 - 100 * math.log(factor / self.low) / math.log(self.high / self.low)
        return round(min(100.0, max(0.0, at)), 3)


def _base(statement: GrownStatement) -> float:
    """The time at size 1, or what the law has there: the target's factor is one of that."""
    at_one = [one.time_ms for one in statement.measured if one.size == 1.0]
    if at_one:
        return max(at_one[0], 1e-6)
    last = statement.measured[-1]
    return max(last.time_ms / math.pow(last.size, statement.time.exponent.value), 1e-6)


def _line(index: int, one: GrownStatement, found: GrowthForecast, scale: _LogAxes) -> GrowthLine:
    base = _base(one)
    seen = [(each.size, each.time_ms / base) for each in one.measured]
    dots = tuple(
        SizeDot(
            x=scale.x(each.size),
            y=scale.y(each.time_ms / base),
            text=f"{each.size:g}x: {number(each.time_ms)} ms, {number(each.buffers)} buffers",
        )
        for each in one.measured
    )
    fitted = tuple((scale.x(a), scale.y(y), scale.x(b), scale.y(z)) for (a, y), (b, z) in pairwise(seen))
    beyond = limits = None
    if one.time.is_extrapolated:
        last_size, last = seen[-1]
        beyond = (scale.x(last_size), scale.y(last), scale.x(found.to), scale.y(one.time.at_to.value))
    at = scale.x(found.to)
    limits = (at, scale.y(max(one.time.at_to.low, 1e-9)), scale.y(one.time.at_to.high))
    return GrowthLine(
        index=index,
        name=short(one.text, 70),
        value=interval_words(one.time.at_to),
        dots=dots,
        fitted=fitted,
        beyond=beyond,
        limits=limits,
    )


def _round(scale: _LogAxes) -> list[float]:
    """Powers of ten, or of two where there are few of them."""
    tens = [10.0**power for power in range(math.ceil(math.log10(scale.low)), math.floor(math.log10(scale.high)) + 1)]
    if 3 <= len(tens) <= _DECADES_MAX:
        return tens
    if len(tens) > _DECADES_MAX:
        return tens[:: math.ceil(len(tens) / _DECADES_MAX)]
    return [2.0**power for power in range(math.ceil(math.log2(scale.low)), math.floor(math.log2(scale.high)) + 1)]


def _description(statements: Sequence[GrownStatement], found: GrowthForecast) -> str:
    """The text for readers who cannot see the picture."""
    each = "; ".join(f"{short(one.text, 40)}: {interval_words(one.time.at_to)}" for one in statements)
    return f"Time per call at {target(found)} the rows: {each}"
