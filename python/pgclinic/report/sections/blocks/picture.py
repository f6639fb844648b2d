"""The interval strip: where everything that decides a verdict lies on one axis of ratios.

The axis is logarithmic, for half and double are equally far from "no difference". Positions are per cent of the
strip's width, so that the picture fits any screen without scaling its text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.judge.evidence import TPS
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.report.parts.tick import Tick
from pgclinic.report.words.figures import ratio, times
from pgclinic.report.words.quantities import range_of_measure, range_words, ratio_of_measure

#: Sets of round ratios in each power of ten, from coarse to fine; finer ones fill the gaps while ticks are few.
_STEP_SETS = (
    (1.0,),
    (1.0, 3.0),
    (1.0, 2.0, 5.0),
    (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    (*(1.0 + 0.1 * step for step in range(10)), 2.5, 3.5, 4.5, 5.5, 7.0, 9.0, 9.5),
)
_TICKS_MIN, _TICKS_MAX = 4, 9

#: Ticks nearer than this, in per cent of the strip, would run into each other on a telephone; long ones need more.
_TICK_GAP, _TICK_LETTER = 9.0, 2.6
_TICK_SHORT = 5


#: Below this ratio an axis is labelled with divisors.
_DEEP = 0.005
_UNITS = (("G", 1e9), ("M", 1e6), ("k", 1e3))


@dataclass(frozen=True)
class Band:
    left: float
    width: float


@dataclass(frozen=True)
class IntervalPicture:
    """Positions in per cent from the left. ``interval`` is None while it has no ends, ``estimate`` without blocks.

    ``bands`` are the claimed region and the equivalence margin by the names of their styles, the wider one first: each
    is drawn over those before it, and a narrow one must not vanish below a wide one. Of two that are equally wide the
    region is the upper one; it is drawn less high, so that the margin is seen behind it.
    """

    region: Band
    null_zone: Band
    bands: tuple[tuple[str, Band], ...]
    one: float
    published: float | None
    estimate: float | None
    interval: Band | None
    dots: tuple[Tick, ...]
    ticks: tuple[Tick, ...]
    description: str


class _Axis:
    """From a ratio to per cent of the strip."""

    def __init__(self, low: float, high: float) -> None:
        margin = (math.log(high) - math.log(low)) * 0.06
        self._low = math.log(low) - margin
        self._length = math.log(high) + margin - self._low
        self.low, self.high = math.exp(self._low), math.exp(self._low + self._length)

    def at(self, value: float) -> float:
        if value <= self.low:
            return 0.0
        if value >= self.high:
            return 100.0
        return round((math.log(value) - self._low) / self._length * 100, 3)

    def band(self, bounds: tuple[float, float]) -> Band:
        left = self.at(bounds[0])
        return Band(left=left, width=round(self.at(bounds[1]) - left, 3))


def interval_picture(verdict: ClaimVerdict, *, is_open: bool = False, measure: str = TPS) -> IntervalPicture:
    """Lay out one claim's verdict; of an open question nothing was published."""
    interval = verdict.interval
    bounds = None
    if interval is not None and interval.low is not None and interval.high is not None:
        bounds = (interval.low, interval.high)
    published_ratio = verdict.published_ratio
    shown = [*verdict.region_edges, *verdict.null_zone, *(bounds or ())] + (
        [published_ratio] if published_ratio is not None else []
    )
    shown.extend(block.ratio for block in verdict.blocks)
    if interval is not None:
        shown.append(interval.ratio)
    # Nothing at all and no limit have no place on a logarithmic axis: what reaches there ends where the axis does.
    shown = [value for value in shown if 0 < value < math.inf]
    axis = _Axis(min(shown), max(shown))
    region, null_zone = axis.band(verdict.region_edges), axis.band(verdict.null_zone)
    # Of an open question nothing was claimed.
    bands = [("null", null_zone)] if is_open else [("region", region), ("null", null_zone)]
    return IntervalPicture(
        region=region,
        null_zone=null_zone,
        bands=tuple(sorted(bands, key=lambda one: (-one[1].width, one[0] == "region"))),
        one=axis.at(1.0),
        published=axis.at(published_ratio) if published_ratio is not None else None,
        estimate=axis.at(interval.ratio) if interval is not None else None,
        interval=axis.band(bounds) if bounds is not None else None,
        dots=tuple(
            Tick(at=axis.at(block.ratio), text=f"block {block.block}: {times(block.ratio)}") for block in verdict.blocks
        ),
        ticks=_ticks(axis),
        description=_description(verdict, bounds, is_open=is_open, measure=measure),
    )


def _ticks(axis: _Axis) -> tuple[Tick, ...]:
    """Round ratios inside the axis, far enough from each other; the one at 1, where the arms are equal, comes first."""
    kept = [Tick(at=axis.at(1.0), text="1x")]
    for steps in _STEP_SETS:
        for value in _round_ratios(axis, steps):
            place = axis.at(value)
            text = _tick_text(value, axis)
            if len(kept) < _TICKS_MAX and all(abs(place - tick.at) >= _gap(text, tick.text) for tick in kept):
                kept.append(Tick(at=place, text=text))
        if len(kept) >= _TICKS_MIN:
            break
    return tuple(sorted(kept, key=lambda tick: tick.at))


def _tick_text(value: float, axis: _Axis) -> str:
    """0.5x; on an axis that goes down by orders of magnitude ÷100k, which needs no counting of zeros."""
    if axis.low >= _DEEP or value >= 1:
        return f"{value:g}x"
    divisor = 1 / value
    unit, size = next(((unit, size) for unit, size in _UNITS if divisor >= size * 0.999), ("", 1.0))
    return f"÷{divisor / size:.3g}{unit}"


def _gap(one: str, other: str) -> float:
    longest = max(len(one), len(other))
    return _TICK_GAP if longest < _TICK_SHORT else _TICK_LETTER * (len(one) + len(other)) / 2


def _round_ratios(axis: _Axis, steps: Sequence[float]) -> list[float]:
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    values = [float(f"{step:.1f}e{power}") for power in range(first, last + 1) for step in steps]
    return [value for value in values if axis.low <= value <= axis.high]


def _description(verdict: ClaimVerdict, bounds: tuple[float, float] | None, *, is_open: bool, measure: str) -> str:
    """The text for readers who cannot see the picture."""
    interval = verdict.interval
    seen = "Nothing was measured."
    if interval is not None:
        ends = (
            f"with a 95 % CI from {range_of_measure(measure, bounds, interval.ratio)}"
            if bounds is not None
            else "without a confidence interval yet"
        )
        each = ", ".join(ratio(block.ratio) for block in verdict.blocks)
        seen = f"Measured is {ratio_of_measure(measure, interval.ratio)}, {ends}; the blocks are at {each}."
    published_ratio = verdict.published_ratio
    region = range_of_measure(measure, verdict.region_edges, published_ratio)
    if is_open:
        return f"Ratios on a logarithmic axis. The equivalence margin is {range_words(verdict.null_zone)}. {seen}"
    figure = f"Published is {ratio_of_measure(measure, published_ratio)}; the" if published_ratio is not None else "The"
    return (
        f"Ratios on a logarithmic axis. {figure} claimed region is {region}, "
        f"the equivalence margin {range_words(verdict.null_zone)}. {seen}"
    )
