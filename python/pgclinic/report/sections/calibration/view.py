"""The result of the A/A calibration, for the page: in words, and by the length of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgclinic.model.calibration import Calibration, SliceSeen
from pgclinic.report.sections.calibration.text import calibration_text
from pgclinic.report.words.figures import count, percent, seconds

Row = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class CalibrationView:
    """``said`` is what the command printed; ``rows`` have a cell for each of ``heads``."""

    said: tuple[str, ...]
    lead: str
    rows: tuple[Row, ...]
    heads: Row = ("Length of a trial", "Ratios differ by", "Upper bound", "Estimated from", "Time per block")


def calibration_view(calibration: Calibration | None) -> CalibrationView | None:
    """None if the run had no calibration."""
    if calibration is None:
        return None
    return CalibrationView(
        said=tuple(line.strip() for line in calibration_text(calibration).splitlines()),
        lead=_lead(calibration),
        rows=tuple(_row(seen, calibration) for seen in calibration.slices),
    )


def _lead(calibration: Calibration) -> str:
    words = (
        f"{count(calibration.trials, 'trial')} of the same arm, {seconds(calibration.seconds)} in total, were measured "
        "before the first block. All differences between them are noise of the machine."
    )
    if calibration.restart_deviation > 0:
        words += f" A restart alone changes the level by {percent(calibration.restart_deviation)}."
    if calibration.position_ratio is not None and calibration.position_ratio > 0:
        words += f" The second of two identical trials ran at {calibration.position_ratio:.2f}x of the first."
    if calibration.longer_unknown:
        words += " The longest length that was measured is the best one; a longer one may be better."
    return words


def _row(one: SliceSeen, calibration: Calibration) -> Row:
    marks = []
    if calibration.chosen is not None and one.length_s == calibration.chosen.length_s:
        marks.append("recommended")
    if calibration.planned is not None and one.length_s == calibration.planned.length_s:
        marks.append("used")
    name = f"{one.length_s} s" + (f" ({', '.join(marks)})" if marks else "")
    return (
        name,
        _percent(one.deviation),
        _percent(one.cautious_deviation),
        count(one.pairs, "pair"),
        f"{one.pair_s:.0f} s",
    )


def _percent(deviation: float) -> str:
    return percent(math.expm1(deviation)) if math.isfinite(deviation) else "-"
