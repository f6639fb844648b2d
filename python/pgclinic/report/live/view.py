"""What a terminal shows while a run goes on: a few lines, drawn again and again. Pure: records in, lines out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from pgclinic.model.progress import Progress
from pgclinic.model.study import Question
from pgclinic.model.tuning import Aim, AssaySoFar, SearchStep
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.report.live.progress import clock, place_words, sparkline
from pgclinic.report.sections.climb.text import BAR_COLUMNS, bar, change_words
from pgclinic.report.words.effects import effect_words
from pgclinic.report.words.figures import count, number
from pgclinic.report.words.quantities import slower

#: No view is higher, nor than the terminal.
LINES_MAX = 14
_LABEL = 14
_SPARK_MAX, _FIGURE = 60, 16
_SETTINGS_SHOWN, _SETTING_WIDTH = 4, 36
#: Of the bar of one setting, for a factor of ten.
_SETTING_BAR = 20.0


@dataclass(frozen=True)
class Judged:
    """The headline question of a run, and what its blocks say so far."""

    question: Question
    seen: ClaimVerdict


def live_view(head: Sequence[Text], beside: Sequence[Text], judged: Judged | None, *, columns: int, rows: int) -> Text:
    """``head`` is what is being done, ``beside`` what else there is to see; then the blocks so far, as many as fit.

    No line is wider than ``columns``, and all of them leave a row of the terminal free.
    """
    most = max(1, min(LINES_MAX, rows - 1))
    lines = [*head, *beside]
    if judged is not None:
        from pgclinic.report.sections.blocks.text import BLOCKS_SHOWN, LINES_AROUND, forest_lines

        blocks = min(BLOCKS_SHOWN, most - len(lines) - LINES_AROUND)
        lines += forest_lines(judged.question, judged.seen, columns=columns, blocks=blocks)
    return Text("\n").join(fitted(line, columns) for line in lines[:most])


def fitted(line: Text, columns: int) -> Text:
    """The line cut to fewer than ``columns``: a terminal wraps what ends in its last column."""
    cut = line.copy()
    cut.truncate(max(1, columns - 1), overflow="ellipsis")
    return cut


def progress_lines(progress: Progress, columns: int) -> list[Text]:
    """Where the run stands and how long it may take; the TPS of the trial and the buffer hits that they take."""
    place, left = place_words(progress), "" if progress.left_s is None else f"{clock(progress.left_s)} left"
    room = columns - 3 - sum(len(part) + 3 for part in (place, progress.stage, left) if part)
    arm = progress.arm if len(progress.arm) <= room else f"{progress.arm[: max(0, room - 1)]}…"
    head = "   ".join(part for part in (place, arm, progress.stage, left) if part)
    lines = [Text(f"  {head}")]
    if progress.tps:
        lines.append(spark_line("TPS", progress.tps, number(progress.tps[-1]), columns))
        hits = progress.buffer_hits_per_transaction
        if hits:
            lines.append(spark_line("hits/txn", hits, number(hits[-1]), columns))
    return lines


def spark_line(label: str, values: Sequence[float], figure: str, columns: int) -> Text:
    """The last values as bars, as many as fit, and the newest one in words."""
    width = min(_SPARK_MAX, max(1, columns - _LABEL - _FIGURE))
    line = Text(f"  {label:<{_LABEL - 2}}")
    line.append(sparkline(values, width), style="cyan")
    return line.append(f"  {figure}")


def climb_lines(
    steps: Sequence[SearchStep], aim: Aim, *, adding: Mapping[str, str], leaving_out: Sequence[str]
) -> list[Text]:
    """What a search tries now, and how far it has come: best so far 12x slower  ████  7 of 31 tries kept."""
    trying = [Text(f"  trying      {change_words(adding, leaving_out)}")] if adding or leaving_out else []
    if not steps:
        return trying
    best, kept = steps[-1].best_ratio, sum(step.accepted for step in steps)
    tries = "try" if len(steps) == 1 else "tries"
    words = f"best so far {slower(best)}  {bar(best, BAR_COLUMNS[aim])}  {kept} of {len(steps):,} {tries} kept"
    return [*trying, Text(f"  {words}", style="bold")]


def assay_lines_so_far(seen: AssaySoFar) -> list[Text]:
    """The whole effect so far, and the settings that seem to do most of it, alone or last."""
    if seen.whole is None:
        return []
    lines = []
    for setting in seen.settings[:_SETTINGS_SHOWN]:
        name = setting.setting[:_SETTING_WIDTH]
        lines.append(
            Text(f"  {name:<{_SETTING_WIDTH}} {slower(setting.factor):>14}  {bar(setting.factor, _SETTING_BAR)}")
        )
    more = len(seen.settings) - _SETTINGS_SHOWN
    tried = f"; {count(more, 'other setting')} tried" if more > 0 else ""
    return [*lines, Text(f"  all together so far {effect_words(seen.whole)}{tried}", style="bold")]
