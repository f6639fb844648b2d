"""The staircase of a bisection: every release against the first."""

from __future__ import annotations

from pgclinic.model.tuning import Bisect
from pgclinic.report.parts.bars import BarRow, Bars, bars_of
from pgclinic.report.parts.pictured import NamedTable, Pictured
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.staircase.text import defaults_words, release_rows
from pgclinic.report.words.figures import times


def staircase_view(one: ReportedTuning) -> Pictured | None:
    """None of another verb."""
    found = one.found
    if not isinstance(found, Bisect):
        return None
    first = found.releases[0].version if found.releases else "the first"
    heads = ("Release", "Rate", f"Ratio to {first}", "Tail", "Buffers")
    tables = [NamedTable("Releases", "Measured in the same blocks.", heads, tuple(release_rows(found)))]
    for change in found.changes:
        rows = tuple(
            (default.setting, default.before or "does not exist", default.after or "is gone")
            for default in change.defaults
        )
        if rows:
            about = "What else differs between the two releases; none of it is shown to be the cause."
            tables.append(
                NamedTable(f"Defaults changed in {change.after}", about, ("Setting", change.before, change.after), rows)
            )
    notes = [f"{change.after}: {words}" for change in found.changes if (words := change.why) is not None]
    notes += [f"{change.after}: {words}" for change in found.changes if (words := defaults_words(change)) is not None]
    notes += [f"{before} and {after}: neither a change nor equality is shown." for before, after in found.undecided]
    return Pictured(
        picture=bisect_picture(found),
        picture_about=f"Every release as a ratio to {first}, with its 95 % CI.",
        tables=tuple(tables),
        notes=tuple(notes),
    )


def bisect_picture(found: Bisect) -> Bars | None:
    """Every release as its ratio to the first."""
    rows = []
    for release in found.releases:
        if release.failure is None:
            effect = release.against_first
            rows.append(BarRow(release.version, times(effect.ratio), 1.0, effect.ratio, effect.low, effect.high))
    first = found.releases[0].version if found.releases else ""
    return bars_of(rows, f"Statements per second by release, as ratios to {first}", "x")
