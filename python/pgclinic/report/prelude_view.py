"""What the prelude told of the machine, for the page: in words, and length by length of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgclinic.model.prelude import Prelude, SliceSeen
from pgclinic.report.prelude_text import prelude_text
from pgclinic.study.figures import count, percent, seconds

Row = tuple[str, str, str, str, str]
HEADS = ("Trials of", "Ratios differ by", "At worst by", "Known from", "A block takes")


@dataclass(frozen=True)
class PreludeView:
    """``said`` is what the command printed; ``rows`` have the cells that ``HEADS`` names."""

    said: tuple[str, ...]
    lead: str
    rows: tuple[Row, ...]


def prelude_view(prelude: Prelude | None) -> PreludeView | None:
    """None where the run had no prelude."""
    if prelude is None:
        return None
    return PreludeView(
        said=tuple(line.strip() for line in prelude_text(prelude).splitlines()),
        lead=_lead(prelude),
        rows=tuple(_row(one, prelude) for one in prelude.slices),
    )


def _lead(prelude: Prelude) -> str:
    words = (
        f"{count(prelude.trials, 'trial')} of one and the same arm, {seconds(prelude.seconds)} in all, were measured "
        "before the first block: what differs between them is the machine's doing."
    )
    if prelude.restart_deviation > 0:
        words += f" A restart alone moves the level by {percent(prelude.restart_deviation)}."
    if prelude.position_ratio is not None and prelude.position_ratio > 0:
        words += f" The later of two identical trials ran at {prelude.position_ratio:.2f}x of the earlier."
    if prelude.longer_unknown:
        words += " The longest length that could be shown is the best one; a longer one may be better still."
    return words


def _row(one: SliceSeen, prelude: Prelude) -> Row:
    marks = []
    if prelude.chosen is not None and one.length_s == prelude.chosen.length_s:
        marks.append("advised")
    if prelude.planned is not None and one.length_s == prelude.planned.length_s:
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
