"""An assay for the terminal: the answer, the settings that carry it, what is open."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pgclinic.model.tuning import Assay, AssayWord, Interaction, InteractionKind, Suspected, SuspicionReason
from pgclinic.report.parts.columns import indented_columns
from pgclinic.report.words.effects import NAMED, effect_words, kept_words, names_words, setting_rows
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, number, percent, times
from pgclinic.report.words.quantities import ratio_words, slower


def assay_lines(found: Assay) -> Iterator[str]:
    yield assay_headline(found)
    if found.word is AssayWord.REFUSED:
        return
    yield (
        f"  rate       {number(found.base_per_s)} {found.counted.value} per second on the base, "
        f"{number(found.changed_per_s)} with all of them"
    )
    if found.carriers:
        yield "  carriers"
        yield from indented_columns(setting_rows(found.carriers))
    for interaction in found.interactions:
        yield f"  depends    {interaction_words(interaction)}"
    others = len(found.bystanders) + len(found.suspected) + len(found.untried)
    if found.smallest and found.keeps is not None and len(found.smallest) < len(found.carriers) + others:
        effect = f", {effect_words(found.smallest_effect)}" if found.smallest_effect is not None else ""
        yield f"  smallest   {', '.join(found.smallest)}: {kept_words(found.keeps)} of the effect{effect}"
    for suspect in found.suspected[:NAMED]:
        yield f"  suspected  {suspected_words(suspect)}"
    if len(found.suspected) > NAMED:
        yield f"  suspected  {count(len(found.suspected) - NAMED, 'other')}"
    label = "undecided " if found.word is AssayWord.INCONCLUSIVE else "bystanders"
    yield f"  {label} {names_words(found.bystanders)}"
    if found.untried:
        yield f"  untried    {names_words(found.untried)}: the budget was over"
    yield f"  trust      {assay_trust(found)}"
    if not found.is_complete:
        yield "  doubt      the budget was over before each setting was tried alone and last"


def assay_headline(found: Assay) -> str:
    """The answer in a line."""
    if found.word is AssayWord.REFUSED:
        return f"REFUSED   {found.refusal}"
    effect = effect_words(found.whole) if found.whole is not None else "not measured"
    if found.word in (AssayWord.NO_DIFFERENCE, AssayWord.INCONCLUSIVE) and not found.carriers:
        return f"{found.word.value.upper()}   {effect}"
    share = math.fsum(carrier.share for carrier in found.carriers)
    carriers = count(len(found.carriers), "setting")
    carry = "carries" if len(found.carriers) == 1 else "carry"
    of_it = f" {percent(share)} of it" if 0 < share <= 1.5 else " it"
    return f"{found.word.value.upper()}   {effect}; {carriers} {carry}{of_it}"


def interaction_words(one: Interaction) -> str:
    first, second = one.settings
    expected = f"{ratio_words(one.together)} together, {ratio_words(one.expected)} if they were independent"
    if one.kind is InteractionKind.SYNERGY:
        return f"{first} and {second} strengthen each other: {expected}"
    return f"{first} and {second} do the same work: {expected}"


def suspected_words(suspect: Suspected) -> str:
    """work_mem = 64: 1.4x slower in the screening, its own orders neither confirm nor exclude it."""
    screened = f"{slower(suspect.factor)} in the screening, " if suspect.factor is not None else ""
    return f"{suspect.setting} = {suspect.value}: {screened}{_SUSPICIONS[suspect.reason]}"


_SUSPICIONS = {
    SuspicionReason.NO_TIME: "the budget had no room for orders of its own",
    SuspicionReason.NOT_CONFIRMED: "its own orders neither confirm nor exclude it",
    SuspicionReason.NOT_MEASURED: "configurations with or without it gave no measurement",
}


def assay_trust(found: Assay) -> str:
    parts = [f"{count(found.blocks, 'block')} for the whole", f"{count(found.trials, 'trial')} in all"]
    if found.resolution is not None:
        parts.append(f"single settings from {times(found.resolution)} on were found")
    return ", ".join([*parts, time_words(found.spent_s)])
