"""The advised indexes: what each serves and costs, and how much the best sets of each size save."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.advise import AdvisedIndex, IndexAdvice, StatementServed
from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.advice.text import cost_words, create_script, ms_words
from pgclinic.report.words.figures import number, percent


@dataclass(frozen=True)
class AdvisedView:
    """``serves`` are rows: time and buffers per call before and after, share of the time, the statement."""

    title: str
    create: str
    costs: str
    undo: str
    serves: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class StepBar:
    """``width`` is of the bar, in CSS; ``more`` is what this index adds to the ones before."""

    label: str
    width: str
    text: str
    more: str
    is_advised: bool


@dataclass(frozen=True)
class IndexesView:
    """``heads`` are those of what an index serves."""

    indexes: tuple[AdvisedView, ...]
    steps: tuple[StepBar, ...]
    heads: tuple[str, ...] = ("Share of the time", "Time per call", "Buffers per call", "Statement")


def indexes_view(one: ReportedAdvice) -> IndexesView | None:
    """None where no index is advised."""
    advice = one.advice
    if not advice.indexes:
        return None
    views = tuple(_advised(place, index) for place, index in enumerate(advice.indexes, start=1))
    return IndexesView(views, _bars(advice))


def _advised(place: int, index: AdvisedIndex) -> AdvisedView:
    return AdvisedView(
        title=f"{place}. saves {percent(index.saved_share)}: {index.definition.table}",
        create=create_script(index),
        costs=cost_words(index),
        undo=f"{index.undo};",
        serves=tuple(map(_served, index.serves)),
    )


def _served(one: StatementServed) -> tuple[str, ...]:
    least = "at least " if one.is_at_least else ""
    return (
        percent(one.time_share),
        f"{least}{ms_words(one.time_ms)} → {ms_words(one.time_ms_after)}",
        f"{number(one.buffers)} → {number(one.buffers_after)}",
        one.text,
    )


def _bars(advice: IndexAdvice) -> tuple[StepBar, ...]:
    """What the best sets of each size save; none where there is one alone."""
    if len(advice.steps) < 2:
        return ()
    most = max(step.saved_share for step in advice.steps) or 1.0
    before = (0.0, *(step.saved_share for step in advice.steps))
    return tuple(
        StepBar(
            label=str(step.indexes),
            width=f"{max(0.4, 100 * step.saved_share / most):.1f}%",
            text=percent(step.saved_share),
            more=f"+{percent(step.saved_share - less)}",
            is_advised=step.indexes == len(advice.indexes),
        )
        for step, less in zip(advice.steps, before, strict=False)
    )
