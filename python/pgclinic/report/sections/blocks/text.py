"""The blocks of a run so far as a forest plot of text: a line for each block, and the interval of all of them.

The axis is that of the page's picture (``interval_picture``): ratios, logarithmic, with 1 marked.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from pgclinic.judge.comparison import word_for
from pgclinic.model.study import Question
from pgclinic.model.verdict import BlockRatio, ClaimVerdict
from pgclinic.report.parts.tick import Tick
from pgclinic.report.sections.blocks.picture import IntervalPicture, interval_picture
from pgclinic.report.words.quantities import ratio_of_measure
from pgclinic.report.words.transport import short_server_time_words
from pgclinic.report.words.verdicts import interval_text, measure_words, measured_words, word_in_full

#: How many blocks the plot shows; those before them are ordinary lines above it.
BLOCKS_SHOWN = 6
#: What stands around the blocks: the axis, the interval, and the interval in words.
LINES_AROUND = 3
_LABEL, _FIGURE = 14, 16
_PLOT_MIN, _PLOT_MAX = 10, 100


def forest_lines(question: Question, seen: ClaimVerdict, *, columns: int, blocks: int = BLOCKS_SHOWN) -> list[Text]:
    """The axis, the last ``blocks`` blocks, the interval so far and its words; the words alone without a block."""
    if not seen.blocks or blocks < 1:
        return [Text(f"  {so_far_words(question, seen)}", style="bold")]
    plot = _Plot(
        interval_picture(seen, is_open=is_open(question), measure=question.measure),
        min(_PLOT_MAX, max(_PLOT_MIN, columns - _LABEL - _FIGURE)),
    )
    rows = [plot.axis(measure_words(question))]
    for block, dot in list(zip(seen.blocks, plot.picture.dots, strict=True))[-blocks:]:
        rows.append(plot.row(f"block {block.block}", [(dot.at, "●")], ratio_of_measure(question.measure, block.ratio)))
    figure = ratio_of_measure(question.measure, seen.interval.ratio) if seen.interval is not None else ""
    rows.append(plot.row("so far", plot.interval_marks(), figure, style="bold"))
    return [*rows, Text(f"  {so_far_words(question, seen)}", style="bold")]


def so_far_words(question: Question, seen: ClaimVerdict) -> str:
    """so far 0.62x, 95 % CI 0.55 to 0.71, 5 blocks: replicated; on a twin the server time of its original."""
    word = word_for(seen).value if is_open(question) else word_in_full(seen)
    if seen.transport is not None:
        return f"so far {short_server_time_words(seen.transport)}: {word}"
    if seen.interval is None:
        return f"so far no usable block: {word}"
    ratio = ratio_of_measure(question.measure, seen.interval.ratio)
    return f"so far {ratio}, {interval_text(seen.interval, question.measure)}: {word}"


def block_line(question: Question, block: BlockRatio) -> str:
    """A block that has left the plot: block 1   0.60x   held 7,420, free 12,340."""
    ratio = ratio_of_measure(question.measure, block.ratio)
    arm = f"{question.arm} {measured_words(question, block.arm_value)}"
    return f"block {block.block}   {ratio}   {arm}, {question.control} {measured_words(question, block.control_value)}"


def is_open(question: Question) -> bool:
    """Whether it has no answer yet, neither a published one nor an expected one."""
    return question.published is None and question.expected is None


class _Plot:
    """Rows of ``width`` columns below one axis."""

    def __init__(self, picture: IntervalPicture, width: int) -> None:
        self.picture = picture
        self._width = width

    def row(self, label: str, marks: Sequence[tuple[float, str]], figure: str, style: str = "") -> Text:
        """A label, marks at their per cent of the width, and a figure; later marks are drawn over earlier ones."""
        cells = [" "] * self._width
        one = self._column(self.picture.one)
        cells[one] = "│"
        for at, mark in marks:
            cells[self._column(at)] = mark
        line = Text(f"  {label:<{_LABEL - 2}}{''.join(cells)}  {figure}", style=style)
        if cells[one] == "│":
            line.stylize("dim", _LABEL + one, _LABEL + one + 1)
        return line

    def interval_marks(self) -> list[tuple[float, str]]:
        """The interval with its ends, as far as it has any, and the estimate."""
        marks: list[tuple[float, str]] = []
        band = self.picture.interval
        if band is not None:
            first, last = self._column(band.left), self._column(band.left + band.width)
            step = 100 / (self._width - 1)
            marks = [(column * step, "─") for column in range(first, last + 1)]
            marks += [(band.left, "├"), (band.left + band.width, "┤")]
        return marks if self.picture.estimate is None else [*marks, (self.picture.estimate, "◆")]

    def axis(self, label: str) -> Text:
        """The ratios of the axis above their places; 1x first, the others where there is room."""
        cells = [" "] * self._width
        for tick in sorted(self.picture.ticks, key=lambda one: one.at != self.picture.one):
            self._write(cells, tick)
        label = label if len(label) <= _LABEL - 4 else f"{label[: _LABEL - 5]}…"
        return Text(f"  {label:<{_LABEL - 2}}{''.join(cells).rstrip()}", style="dim")

    def _write(self, cells: list[str], tick: Tick) -> None:
        first = max(0, min(self._column(tick.at) - len(tick.text) // 2, self._width - len(tick.text)))
        if "".join(cells[max(0, first - 1) : first + len(tick.text) + 1]).strip():
            return
        cells[first : first + len(tick.text)] = tick.text

    def _column(self, at: float) -> int:
        return round(at / 100 * (self._width - 1))
