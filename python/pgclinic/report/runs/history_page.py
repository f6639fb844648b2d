"""The history of runs as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from pgclinic.model.history import FigureHistory, FigurePoint, FigureUnit, HistoryOutput, RunSeries
from pgclinic.model.output import RunOutput
from pgclinic.report.html import html_page
from pgclinic.report.runs.history import NONE, figure_label, figure_words
from pgclinic.report.runs.history_picture import HistoryPicture, history_picture
from pgclinic.report.runs.history_text import (
    change_words,
    column_label,
    difference_words,
    few_words,
    headline_words,
    notes,
    point_words,
    run_name,
    when,
)


@dataclass(frozen=True)
class FigureView:
    """``changes`` are sentences, each with what differs at that run."""

    label: str
    newest: str
    state: str
    picture: HistoryPicture
    changes: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class SeriesView:
    """``too_few`` is empty where change points were searched for. ``rows`` are cells of a table with a row for each
    run, ``steps`` of one with a row for each change of a finding."""

    title: str
    facts: tuple[tuple[str, str], ...]
    too_few: str
    figures: tuple[FigureView, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    steps: tuple[tuple[str, ...], ...]


def history_page(history: HistoryOutput, directory: Path) -> str:
    """The page; runs below ``directory``, where it will lie, are linked to their reports."""
    return html_page(
        "runs/history",
        kind="history of runs",
        when="",
        source="the run folders",
        files=("runs/history.css",),
        name=history.name,
        headline=headline_words(history),
        series=[_view(series, directory, history) for series in history.series],
        notes=list(notes(history)),
    )


def _view(series: RunSeries, directory: Path, history: HistoryOutput) -> SeriesView:
    titled = [f"{label}: {series.facts[label]}" for label in series.differs]
    return SeriesView(
        title="; ".join(titled) if len(history.series) > 1 else "",
        facts=tuple(_facts(series)),
        too_few=few_words(series, history.method),
        figures=tuple(_figure(figure, series) for figure in series.figures),
        heads=("Run", "Started, UTC", *(column_label(figure) for figure in series.figures), "Answer"),
        rows=tuple(_rows(series, directory)),
        steps=tuple(
            (_whole(when(series.runs[step.run])), changed.change, changed.finding)
            for step in series.findings
            for changed in step.changed
        ),
    )


def _facts(series: RunSeries) -> Iterator[tuple[str, str]]:
    yield from series.facts.items()
    if series.findings:
        yield "first finding of the newest run", series.findings[-1].first or "none"


def _figure(figure: FigureHistory, series: RunSeries) -> FigureView:
    return FigureView(
        label=figure_label(figure),
        newest=point_words(figure, figure.points[-1]),
        state=figure.state.value,
        picture=history_picture(figure, series.runs),
        changes=tuple(
            (change_words(figure, change, series.runs), tuple(difference_words(change))) for change in figure.changes
        ),
    )


def _rows(series: RunSeries, directory: Path) -> Iterator[tuple[str, ...]]:
    """The newest first, as lists of runs are."""
    columns = [{point.run: _cell(figure, point) for point in figure.points} for figure in series.figures]
    for place, run in reversed([*enumerate(series.runs)]):
        figures = (column.get(place, NONE) for column in columns)
        yield _linked(run, directory), _whole(when(run)), *figures, run.answer or NONE


def _cell(figure: FigureHistory, point: FigurePoint) -> str:
    """The unit stands at the head of the column; a ratio has its interval and its word."""
    if figure.unit is FigureUnit.RATIO:
        return point_words(figure, point)
    return figure_words(figure, point.value)


def _whole(text: str) -> Markup:
    """In one line."""
    return Markup('<span class="whole">{}</span>').format(text)


def _linked(run: RunOutput, directory: Path) -> str:
    """The name of the run's folder, as a link to its report where that lies below ``directory``."""
    report = Path(run.report).absolute() if run.report is not None else None
    if report is None or not report.is_relative_to(directory):
        return run_name(run)
    address = quote(report.relative_to(directory).as_posix())
    return Markup('<a href="{}">{}</a>').format(address, run_name(run))
