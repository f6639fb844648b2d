"""The history of runs, for the terminal. Pure."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from collections.abc import Iterator

from pgclinic.model.history import (
    ChangeMethod,
    ChangeTurn,
    FigureChange,
    FigureHistory,
    FigurePoint,
    FigureState,
    HistoryOutput,
    RunSeries,
)
from pgclinic.model.output import RunOutput
from pgclinic.report.live.progress import sparkline
from pgclinic.report.runs.history import NONE, figure_label, figure_words, unit_words
from pgclinic.report.words.figures import count, span

_SPARK_RUNS = 40
#: Checkups with changed findings, and names of runs that are left out: no more are shown. JSON has them all.
_STEPS_SHOWN = 10
#: Facts that are known by their values.
_PLAIN = ("command", "machine", "server")
_STATES = {
    FigureState.WORSE: "changed for the worse",
    FigureState.BETTER: "changed for the better",
    FigureState.CHANGED: "changed",
}


def history_text(history: HistoryOutput, width: int) -> str:
    """Each figure as a line of bars with its changes in words, then the method."""
    lines = [f"HISTORY   {history.name}: {headline_words(history)}"]
    for series in history.series:
        lines += ["", " · ".join(series_words(series)), *_series_lines(series, history)]
    lines += ["", *notes(history)]
    return "\n".join(part for line in lines for part in _wrapped(line, width))


def headline_words(history: HistoryOutput) -> str:
    """8 runs; 2 of 4 figures changed for the worse."""
    runs = sum(len(series.runs) for series in history.series)
    said = [count(runs, "run")]
    if len(history.series) > 1:
        said.append(f"{len(history.series)} series, which cannot be compared with each other")
    figures = [figure for series in history.series for figure in series.figures]
    states = Counter(figure.state for figure in figures)
    if states[FigureState.TOO_FEW] == len(figures):
        said.append(f"too few for change points, which need {history.method.runs_min}")
    else:
        moved = [f"{states[state]} {words}" for state, words in _STATES.items() if states[state]]
        said.append(
            f"of {count(len(figures), 'figure')} {', '.join(moved) or 'none changed'} in the newest "
            f"{history.method.recent_runs} runs"
        )
    said += [words for series in history.series for words in _last_findings(series)]
    return "; ".join(said)


def series_words(series: RunSeries) -> list[str]:
    """The facts that its runs share, with their labels but for those that need none and are the same in all series."""
    return [
        value if label in _PLAIN and label not in series.differs else f"{label}: {value}"
        for label, value in series.facts.items()
    ]


def few_words(series: RunSeries, method: ChangeMethod) -> str:
    """3 runs: change points need 6; empty where there are enough."""
    runs = len(series.runs)
    return f"{count(runs, 'run')}: change points need {method.runs_min}" if runs < method.runs_min else ""


def change_words(figure: FigureHistory, change: FigureChange, runs: tuple[RunOutput, ...]) -> str:
    """since 2026-11-03 04:00 (run NAME): 1,240 → 980 TPS (-21 %), p 0.0004: worse"""
    run = runs[change.run]
    means = " → ".join(figure_words(figure, value) for value in (change.before, change.after))
    share = f" ({change.change:+.0%})".replace("%", " %") if change.change is not None else ""
    turn = f": {change.turn.value}" if change.turn is not ChangeTurn.CHANGED else ""
    return (
        f"since {when(run)} (run {run_name(run)}): {means}{unit_words(figure)}{share}, {_p_words(change.p_value)}{turn}"
    )


def difference_words(change: FigureChange) -> list[str]:
    """What differs between the run before the change and the first one after it, a line each."""
    if not change.differs:
        return ["the run before it differs in nothing that runs record"]
    return [
        f"{pair.label}: now {pair.b}"
        if pair.a == NONE
        else f"{pair.label}: no longer {pair.a}"
        if pair.b == NONE
        else f"{pair.label}: {pair.a} → {pair.b}"
        for pair in change.differs
    ]


def column_label(figure: FigureHistory) -> str:
    """The head of a column of ``figure_words``: latency p99, ms."""
    unit = unit_words(figure).strip()
    label = figure_label(figure)
    return f"{label}, {unit}" if unit and unit != label else label


def point_words(figure: FigureHistory, point: FigurePoint) -> str:
    """0.52x (95 % CI 0.46 to 0.58), replicated"""
    said = f"{figure_words(figure, point.value)}{unit_words(figure)}"
    if point.low is not None and point.high is not None:
        said += f" (95 % CI {span((point.low, point.high))})"
    return f"{said}, {point.word}" if point.word is not None else said


def notes(history: HistoryOutput) -> Iterator[str]:
    """How changes are found and how sure they are, and which runs have no figure."""
    method = history.method
    yield (
        f"Change points: Apache Otava, windows of {method.window_runs} runs, p below {method.p_value_max:g} "
        "for a place named beforehand."
    )
    yield "The place is searched for: of series of up to 60 runs without any change, 1 to 3 % show one."
    yield (
        "Runs are not blocks: whatever changed on the machine between them is in a change. "
        "pgclinic compare runs both sides in turn."
    )
    if history.left_out:
        shown = ", ".join(path.rpartition("/")[2] for path in history.left_out[:_STEPS_SHOWN])
        yield f"Left out, without an answer or a figure: {count(len(history.left_out), 'run')}: {shown}"


def when(run: RunOutput) -> str:
    """2026-11-03 04:00, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime((run.started_epoch_us or 0) / 1e6))


def run_name(run: RunOutput) -> str:
    """The name of its folder."""
    return run.path.rpartition("/")[2]


def _series_lines(series: RunSeries, history: HistoryOutput) -> Iterator[str]:
    label_width = max((len(figure_label(figure)) for figure in series.figures), default=0)
    bars_width = min(_SPARK_RUNS, len(series.runs))
    for figure in series.figures:
        bars = sparkline([point.value for point in figure.points], _SPARK_RUNS).ljust(bars_width)
        yield f"  {figure_label(figure):<{label_width}}   {bars}   {point_words(figure, figure.points[-1])}"
        for change in figure.changes:
            yield f"    {change_words(figure, change, series.runs)}"
            yield from (f"      {words}" for words in difference_words(change))
    few = few_words(series, history.method)
    if few:
        yield f"  {few}, so the runs are listed"
        yield from _listed(series)
    yield from _finding_lines(series)


def _wrapped(line: str, width: int) -> list[str]:
    """What goes on stands two columns behind its beginning; names of runs and options are not broken."""
    inset = " " * (len(line) - len(line.lstrip()) + 2)
    return (
        textwrap.wrap(
            line, width, subsequent_indent=inset, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        )
        if len(line) > width
        else [line]
    )


def _listed(series: RunSeries) -> Iterator[str]:
    """Every run with the figures that it has."""
    said: dict[int, list[str]] = {place: [] for place in range(len(series.runs))}
    for figure in series.figures:
        label, unit = figure_label(figure), unit_words(figure)
        for point in figure.points:
            value = f"{figure_words(figure, point.value)}{unit}"
            said[point.run].append(value if label == unit.strip() else f"{label} {value}")
    for run, words in zip(series.runs, said.values(), strict=True):
        yield f"    {when(run)} (run {run_name(run)}): {', '.join(words)}"


def _last_findings(series: RunSeries) -> Iterator[str]:
    """findings last changed 2026-11-20 19:00: 12 new, 1 gone"""
    changed = [step for step in series.findings if step.changed]
    if changed:
        kinds = Counter(one.change for one in changed[-1].changed)
        moved = ", ".join(f"{amount} {kind}" for kind, amount in kinds.items())
        yield f"findings last changed {when(series.runs[changed[-1].run])}: {moved}"


def _finding_lines(series: RunSeries) -> Iterator[str]:
    if not series.findings:
        return
    newest = series.findings[-1]
    yield f"  first finding of the newest run: {newest.first or 'none'}"
    steps = [step for step in series.findings if step.changed]
    for step in steps[-_STEPS_SHOWN:]:
        yield f"  {when(series.runs[step.run])} (run {run_name(series.runs[step.run])})"
        yield from (f"    {changed.change:<9}{changed.finding}" for changed in step.changed)
    if len(steps) > _STEPS_SHOWN:
        yield f"  {count(len(steps) - _STEPS_SHOWN, 'earlier checkup')} with changed findings: JSON has all"


def _p_words(p_value: float) -> str:
    return "p below 0.0001" if p_value < 0.0001 else f"p {p_value:.4f}"
