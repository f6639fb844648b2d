"""Existing indexes that could be dropped, and those that are not judged."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.advice.text import as_script, drop_words, idle_words
from pgclinic.report.sections.memory.groups import size
from pgclinic.report.words.verdicts import capitalised


@dataclass(frozen=True)
class DropsView:
    """``commands`` drop them; ``idle`` says which indexes are not judged, and why."""

    rows: tuple[tuple[str, ...], ...]
    commands: str
    idle: str


def drops_view(one: ReportedAdvice) -> DropsView | None:
    """None where nothing could be dropped, and no index is unjudged."""
    advice = one.advice
    idle = idle_words(advice) or ""
    if not advice.drops and not idle:
        return None
    rows = tuple((drop.name, drop_words(drop), size(drop.size_bytes)) for drop in advice.drops)
    return DropsView(rows, as_script(drop.drop for drop in advice.drops), capitalised(idle))
