"""The waterfall of an assay: what each setting does on the way from the base to the complete configuration."""

from __future__ import annotations

from pgclinic.model.tuning import Assay, AssayWord
from pgclinic.report.parts.bars import BarRow, Bars, bars_of
from pgclinic.report.parts.pictured import NamedTable, Pictured
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.waterfall.text import interaction_words, suspected_words
from pgclinic.report.words.effects import SETTING_HEADS, effect_words, kept_words, setting_rows
from pgclinic.report.words.figures import number


def waterfall_view(one: ReportedTuning) -> Pictured | None:
    """The way from the base to the complete configuration; None of another verb."""
    found = one.found
    if not isinstance(found, Assay):
        return None
    tables = []
    if found.carriers:
        about = "A factor is the mean over orders of adding it; where alone and last differ, settings interact."
        tables.append(NamedTable("Carriers", about, SETTING_HEADS, tuple(setting_rows(found.carriers))))
    notes = [interaction_words(interaction) for interaction in found.interactions]
    if found.smallest and found.keeps is not None and found.smallest_effect is not None:
        notes.append(
            f"The smallest set found is {', '.join(found.smallest)}: {kept_words(found.keeps)} of the effect, "
            f"{effect_words(found.smallest_effect)}."
        )
    notes += [f"Suspected, and not named as a carrier: {suspected_words(suspect)}." for suspect in found.suspected]
    if found.bystanders:
        notes.append(f"{_bystanders(found)}: {', '.join(found.bystanders)}.")
    if found.untried:
        notes.append(f"Not tried, because the budget was over: {', '.join(found.untried)}.")
    return Pictured(
        picture=assay_picture(found),
        picture_about=(
            f"{found.counted.value.capitalize()} per second from the base to the complete configuration, "
            "one setting after the other."
        ),
        tables=tuple(tables),
        notes=tuple(notes),
    )


def _bystanders(found: Assay) -> str:
    """What is said of settings that are no carriers: where nothing is decided, they are neither this nor that."""
    if found.word is AssayWord.INCONCLUSIVE:
        return "Neither with nor without an effect, as far as these trials tell"
    return "Without an effect that these trials could find"


def assay_picture(found: Assay) -> Bars | None:
    """The waterfall from the base to the complete configuration, in what was counted per second."""
    rows = [
        BarRow(one.setting, f"{number(one.before)} → {number(one.after)}", one.before, one.after)
        for one in found.waterfall
    ]
    return bars_of(
        rows, f"{found.counted.value.capitalize()} per second from the base to the complete configuration", ""
    )
