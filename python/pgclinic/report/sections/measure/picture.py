"""What a claim compares, drawn in its own unit: a dot for each block and the mean, arm by arm.

For claims about anything but throughput, which the page draws over time. Places across are per cent of the picture's
width, places down are pixels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.judge.block_means import arm_means
from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.model.study import Question, Study
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.report.parts.tick import Tick
from pgclinic.report.words.figures import count
from pgclinic.report.words.verdicts import measure_words, measured_words, stated_figure

_LEFT, _RIGHT = 2.0, 96.0
_TOP, _ROW, _FOOT = 10.0, 52.0, 26.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 5

#: From this ratio of the greatest value to the least on, small values would look like 0 on a linear axis.
_LOGARITHMIC = 20.0


@dataclass(frozen=True)
class Row:
    """One arm. ``index`` is its place in the study, which gives its colour; ``y`` is where its dots are."""

    arm: str
    index: int
    y: float
    dots: tuple[Tick, ...]
    mean: Tick


@dataclass(frozen=True)
class MeasurePicture:
    """``reference`` is the value that the arm is held against in the control's place, None where there is none; its
    text is "published 2.4 kB"."""

    title: str
    axis: str
    rows: tuple[Row, ...]
    reference: Tick | None
    ticks: tuple[Tick, ...]
    bottom: float
    height: float
    description: str


class _MeasureAxis:
    """From a value to per cent; linear from 0, or logarithmic where the values differ by a large factor."""

    def __init__(self, values: Sequence[float]) -> None:
        least, greatest = min(values), max(values)
        self.logarithmic = least > 0 and greatest / least >= _LOGARITHMIC
        low = least / 1.3 if self.logarithmic else min(0.0, least)
        high = greatest * (1.3 if self.logarithmic else 1.08) or 1.0
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        place = (self._scaled(value) - self._scaled(self.low)) / (self._scaled(self.high) - self._scaled(self.low))
        return round(_LEFT + place * (_RIGHT - _LEFT), 3)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value

    def round_values(self) -> list[float]:
        """A few values that a reader would choose for the ticks."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            every = max(1, math.ceil((last - first + 1) / _TICKS))
            return [10.0**power for power in range(first, last + 1, every)]
        rough = (self.high - self.low) / _TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * one for one in _STEPS if unit * one >= rough)
        return [step * place for place in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def measure_picture(study: Study, claim: Question, verdict: ClaimVerdict) -> MeasurePicture | None:
    """None for throughput, for a sweep, which has a picture of its levels, and without a block that can be used."""
    if claim.measure in OF_THE_LOAD or claim.levels or not verdict.blocks:
        return None
    blocks = verdict.blocks
    control_mean, arm_mean = arm_means(blocks)
    values, means = {claim.arm: [block.arm_value for block in blocks]}, {claim.arm: arm_mean}
    if claim.reference_value is None:
        values = {claim.control: [block.control_value for block in blocks], **values}
        means = {claim.control: control_mean, **means}
    reference = [] if claim.reference_value is None else [claim.reference_value]
    axis = _MeasureAxis([*reference, *(value for own in values.values() for value in own)])
    numbers = [block.block for block in blocks]
    rows = tuple(
        _row(
            claim,
            axis,
            (arm, tuple(study.arms).index(arm)),
            _TOP + _ROW * (place + 0.72),
            list(zip(numbers, own, strict=True)),
            means[arm],
        )
        for place, (arm, own) in enumerate(values.items())
    )
    bottom = _TOP + _ROW * len(rows)
    words = measure_words(claim)
    return MeasurePicture(
        title=words,
        axis=f"{words}, logarithmic axis" if axis.logarithmic else words,
        rows=rows,
        reference=Tick(at=axis.at(reference[0]), text=stated_figure(claim)) if reference else None,
        ticks=tuple(Tick(at=axis.at(value), text=_round(claim, value)) for value in axis.round_values()),
        bottom=bottom,
        height=bottom + _FOOT,
        description=_description(claim, rows, len(blocks)),
    )


def _round(claim: Question, value: float) -> str:
    """A tick's value; a round one has no use for a last 0."""
    return re.sub(r"\.0\b", "", measured_words(claim, value))


def _row(
    claim: Question, axis: _MeasureAxis, arm: tuple[str, int], y: float, own: Sequence[tuple[int, float]], middle: float
) -> Row:
    dots = tuple(Tick(at=axis.at(value), text=f"block {block}: {measured_words(claim, value)}") for block, value in own)
    return Row(
        arm=arm[0], index=arm[1], y=y, dots=dots, mean=Tick(at=axis.at(middle), text=measured_words(claim, middle))
    )


def _description(claim: Question, rows: Sequence[Row], blocks: int) -> str:
    """For a reader who cannot see the picture."""
    means = "; ".join(f"{row.arm}: {row.mean.text}" for row in rows)
    stated = ""
    if claim.reference_value is not None:
        stated = f" {stated_figure(claim).capitalize()}."
    return f"{measure_words(claim)}, means of {count(blocks, 'block')}: {means}.{stated}"
