"""The climb of a search: each step that was kept, then what fresh blocks say."""

from __future__ import annotations

from pgclinic.model.tuning import Aim, Search
from pgclinic.report.live.progress import clock
from pgclinic.report.parts.bars import BarRow, Bars, bars_of
from pgclinic.report.parts.pictured import NamedTable, Pictured
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.climb.text import OUTCOME_WORDS
from pgclinic.report.words.effects import SETTING_HEADS, setting_rows
from pgclinic.report.words.figures import times


def climb_view(one: ReportedTuning) -> Pictured | None:
    """None of another verb."""
    found = one.found
    if not isinstance(found, Search):
        return None
    tables = []
    if found.effects:
        about = "Each added to the base, taken out of what was found, and over orders."
        tables.append(NamedTable("Settings", about, SETTING_HEADS, tuple(setting_rows(found.effects))))
    heads = ("Trial", "Added", "Taken out", "Outcome", "Ratio to base", "Kept", "Best", "Time")
    tables.append(NamedTable("Every step", "All trials of the search in their order.", heads, tuple(_steps(found)), 4))
    return Pictured(
        picture=search_picture(found),
        picture_about="Each step that was kept, and what fresh blocks say at the end, as ratios to the base.",
        tables=tuple(tables),
        notes=(*found.dropped_by_rule, *found.rejected_by_guard, *(f"Not tried: {name}" for name in found.untried)),
    )


def _steps(found: Search) -> list[tuple[str, ...]]:
    return [
        (
            str(step.trial),
            ", ".join(f"{name} = {value}" for name, value in step.added.items()) or "-",
            ", ".join(step.removed) or "-",
            OUTCOME_WORDS[step.outcome],
            times(step.ratio) if step.ratio is not None else "-",
            "kept" if step.accepted else "",
            times(step.best_ratio),
            clock(step.spent_s),
        )
        for step in found.steps
    ]


def search_picture(found: Search) -> Bars | None:
    """Each step that was kept, as its ratio to the base; the last bar is what fresh blocks say."""
    rows = []
    before = 1.0
    for step in found.steps:
        if not step.accepted or step.best_ratio <= 0:
            continue
        label = ", ".join(step.added) or f"without {', '.join(step.removed)}"
        rows.append(BarRow(label, times(step.best_ratio), before, step.best_ratio))
        before = step.best_ratio
    if found.effect is not None:
        effect = found.effect
        rows.append(BarRow("confirmed", times(effect.ratio), 1.0, effect.ratio, effect.low, effect.high, is_rest=True))
    way = "down to the slowest" if found.aim is Aim.WORST else "up to the fastest"
    return bars_of(rows, f"The way {way} configuration, as ratios to the base", "x")
