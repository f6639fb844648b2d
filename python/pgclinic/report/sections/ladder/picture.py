"""The staircase: published and measured TPS of a ladder's arms, one step each, on one logarithmic axis.

Steps have equal widths, in per cent, so that the picture fits its box without scaling its text; heights are
pixels. A decade is equally high everywhere, for a factor of ten is the same fall from 7,000 as from 0.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgclinic.report.sections.ladder.steps import LadderStep

_TOP = 34.0
_BOTTOM = 36.0
_FOOT = 78.0
_DECADES_HEIGHT, _DECADE_MIN, _DECADE_MAX = 330.0, 26.0, 90.0
_LETTER, _COLUMN_MIN, _COLUMN_MAX = 7.8, 98.0, 190.0

#: Distances of a figure's base line from the line it belongs to, and the length of an open mark's arrow.
_TEXT_ABOVE, _TEXT_BELOW, _ARROW = 8.0, 17.0, 9.0

#: Both lines fall at the same edge; this much apart, in per cent, both can be seen.
_APART = 0.35


@dataclass(frozen=True)
class GridLine:
    y: float
    text: str


@dataclass(frozen=True)
class Tread:
    """One step of one line. ``riser`` is where it came down from, None where there is no step before it.

    ``bar`` is the 95 % interval, upper end first; ``open`` marks an upper limit: nothing was counted.
    """

    y: float
    text: str
    left: float = 0.0
    right: float = 0.0
    text_y: float = 0.0
    riser: float | None = None
    bar: tuple[float, float] | None = None
    open: bool = False

    @property
    def top(self) -> float:
        return self.bar[0] if self.bar is not None else self.y

    @property
    def bottom(self) -> float:
        if self.open:
            return self.y + _ARROW
        return self.bar[1] if self.bar is not None else self.y


@dataclass(frozen=True)
class StairColumn:
    """One arm's column: its treads and what stands below them."""

    name: str
    full_name: str
    middle: float
    published: Tread | None
    measured: Tread | None
    refusal: str | None
    published_fall: str
    measured_fall: str


@dataclass(frozen=True)
class Staircase:
    """Widths in per cent, heights in pixels. ``foot`` is where the names begin, below the axis."""

    height: float
    width_min: float
    bottom: float
    grid: tuple[GridLine, ...]
    steps: tuple[StairColumn, ...]
    description: str


class _StairAxis:
    """From TPS to pixels from the top, over whole decades."""

    def __init__(self, values: Sequence[float]) -> None:
        self.first = math.floor(math.log10(min(values)) + 1e-9)
        self.last = max(self.first + 1, math.ceil(math.log10(max(values)) - 1e-9))
        decades = self.last - self.first
        self._decade = min(_DECADE_MAX, max(_DECADE_MIN, _DECADES_HEIGHT / decades))
        self.bottom = round(_TOP + decades * self._decade + _BOTTOM, 1)

    def y(self, tps: float) -> float:
        return round(_TOP + (self.last - math.log10(tps)) * self._decade, 1)

    def grid(self) -> tuple[GridLine, ...]:
        powers = range(self.last, self.first - 1, -1)
        return tuple(GridLine(y=self.y(10.0**power), text=_power_text(power)) for power in powers)


def staircase(ladder: Sequence[LadderStep]) -> Staircase | None:
    """Lay out the steps; None where there is not one figure to draw."""
    values = [value for ladder_step in ladder for value in _values(ladder_step)]
    if not values:
        return None
    axis = _StairAxis(values)
    steps: list[StairColumn] = []
    for index, ladder_step in enumerate(ladder):
        before = steps[-1] if steps else None
        steps.append(_step(ladder_step, axis, before, (index * 100 / len(ladder), (index + 1) * 100 / len(ladder))))
    return Staircase(
        height=axis.bottom + _FOOT,
        width_min=round(_column(ladder) * len(ladder)),
        bottom=axis.bottom,
        grid=axis.grid(),
        steps=tuple(steps),
        description=_description(ladder),
    )


def _values(ladder_step: LadderStep) -> list[float]:
    """Every TPS that must find its place on the axis."""
    seen = ladder_step.seen
    values = (seen.published_tps, *((seen.tps, seen.tps_low, seen.tps_high) if _was_measured(ladder_step) else ()))
    return [value for value in values if value is not None and value > 0]


def _was_measured(ladder_step: LadderStep) -> bool:
    return ladder_step.seen.refusal is None and ladder_step.seen.trials > 0


def _step(
    ladder_step: LadderStep, axis: _StairAxis, before: StairColumn | None, sides: tuple[float, float]
) -> StairColumn:
    seen = ladder_step.seen
    published, measured = _published(ladder_step, axis), _measured(ladder_step, axis)
    if published is not None:
        published = _placed(published, sides, -_APART, before.published if before is not None else None)
    if measured is not None:
        measured = _placed(measured, sides, _APART, before.measured if before is not None else None)
    published, measured = _with_texts_apart(published, measured)
    return StairColumn(
        name=_cut(seen.arm),
        full_name=seen.arm,
        middle=round(sum(sides) / 2, 3),
        published=published,
        measured=measured,
        refusal=seen.refusal,
        published_fall=ladder_step.published.text if ladder_step.published is not None else "",
        measured_fall=ladder_step.measured.text if ladder_step.measured is not None else "",
    )


def _published(ladder_step: LadderStep, axis: _StairAxis) -> Tread | None:
    tps = ladder_step.seen.published_tps
    return Tread(y=axis.y(tps), text=ladder_step.published_text) if tps else None


def _measured(ladder_step: LadderStep, axis: _StairAxis) -> Tread | None:
    """The measured step with its interval; without a commit it is an open mark at its upper limit."""
    seen = ladder_step.seen
    if not _was_measured(ladder_step):
        return None
    if seen.tps <= 0:
        return Tread(y=axis.y(seen.tps_high), text=ladder_step.measured_text, open=True) if seen.tps_high else None
    bar = None
    if seen.tps_low is not None and seen.tps_high is not None:
        # An interval that reaches down to nothing ends where the axis does.
        bar = (axis.y(seen.tps_high), axis.y(max(seen.tps_low, 10.0**axis.first)))
    return Tread(y=axis.y(seen.tps), text=ladder_step.measured_text, bar=bar)


def _placed(tread: Tread, sides: tuple[float, float], shift: float, before: Tread | None) -> Tread:
    return replace(
        tread,
        left=round(sides[0] + (shift if before is not None else 0.0), 3),
        right=round(min(sides[1] + shift, 100.0), 3),
        riser=before.y if before is not None else None,
    )


def _with_texts_apart(published: Tread | None, measured: Tread | None) -> tuple[Tread | None, Tread | None]:
    """The higher line has its figure above both and the lower one below, so that no figure runs into a line."""
    present = [tread for tread in (published, measured) if tread is not None]
    above = round(min((tread.top for tread in present), default=0.0) - _TEXT_ABOVE, 1)
    below = round(max((tread.bottom for tread in present), default=0.0) + _TEXT_BELOW, 1)
    if published is None or measured is None:
        return published and replace(published, text_y=above), measured and replace(measured, text_y=above)
    if measured.y < published.y:
        return replace(published, text_y=below), replace(measured, text_y=above)
    return replace(published, text_y=above), replace(measured, text_y=below)


def _column(ladder: Sequence[LadderStep]) -> float:
    longest = max(len(_cut(ladder_step.seen.arm)) for ladder_step in ladder)
    return max(_COLUMN_MIN, _LETTER * longest + 14)


def _cut(name: str) -> str:
    most = int((_COLUMN_MAX - 14) / _LETTER)
    return name if len(name) <= most else name[: most - 1] + "…"


def _power_text(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def _description(ladder: Sequence[LadderStep]) -> str:
    """The text for readers who cannot see the picture; the table below has the same figures."""
    parts = []
    for ladder_step in ladder:
        seen = ladder_step.seen
        limits = (
            f" (95 % CI {ladder_step.limits_text})" if ladder_step.limits_text and _was_measured(ladder_step) else ""
        )
        here = f"here {ladder_step.measured_text}{limits}"
        parts.append(f"{seen.arm}: published {ladder_step.published_text}, {here}")
    return (
        "A staircase of transactions per second on a logarithmic axis, one step per arm, each with the settings "
        f"of the arms before it. {'; '.join(parts)}."
    )
