"""Assays, searches and bisections as text: the answer first, then what it is made of, then where more is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from pgclinic.model.output import AssayOutput, BisectOutput, SearchOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.tuning import (
    Aim,
    Assay,
    AssayWord,
    AttemptOutcome,
    Bisect,
    BisectWord,
    ChangeFound,
    Effect,
    Interaction,
    InteractionKind,
    Search,
    SettingEffect,
    Suspected,
    SuspicionReason,
)
from pgclinic.report.live.progress import clock
from pgclinic.report.words.figures import count, number, percent, times
from pgclinic.report.words.quantities import ratio_words, slower, slower_range

#: Settings that are named in a line; the page has all.
_NAMED = 8
_DEFAULTS = 6


def tuning_output(
    found: Assay | Search | Bisect, run: str, report: str | None
) -> AssayOutput | SearchOutput | BisectOutput:
    """What ``--json`` prints: the answer itself, with its run and its report."""
    kinds: dict[type, type] = {Assay: AssayOutput, Search: SearchOutput, Bisect: BisectOutput}
    whole = msgspec.to_builtins(found) | {"run": run, "report": report}
    made: AssayOutput | SearchOutput | BisectOutput = msgspec.convert(whole, kinds[type(found)])
    return made


def tuning_text(
    found: Assay | Search | Bisect, plan: ExperimentPlan, places: Sequence[tuple[str, str]], *, resume: str
) -> str:
    """``places`` are files to name at the end."""
    match found:
        case Assay():
            lines = list(assay_lines(found))
        case Search():
            lines = list(search_lines(found))
        case Bisect():
            lines = list(bisect_lines(found))
    if plan.fidelity is not None and not plan.fidelity.judges_throughput:
        lines.append("  doubt      the twin does not run the transactions of its original: this is about the twin")
    lines += [f"  {name:<10} {path}" for name, path in places]
    if not found.is_complete:
        lines.append(f"  resume     pgclinic {type(found).__name__.lower()} --resume {resume} --budget TIME")
    return "\n".join(lines)


# Assay


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
        yield from _indented(setting_rows(found.carriers))
    for interaction in found.interactions:
        yield f"  depends    {interaction_words(interaction)}"
    others = len(found.bystanders) + len(found.suspected) + len(found.untried)
    if found.smallest and found.keeps is not None and len(found.smallest) < len(found.carriers) + others:
        effect = f", {effect_words(found.smallest_effect)}" if found.smallest_effect is not None else ""
        yield f"  smallest   {', '.join(found.smallest)}: {kept_words(found.keeps)} of the effect{effect}"
    for suspect in found.suspected[:_NAMED]:
        yield f"  suspected  {suspected_words(suspect)}"
    if len(found.suspected) > _NAMED:
        yield f"  suspected  {count(len(found.suspected) - _NAMED, 'other')}"
    yield f"  bystanders {names_words(found.bystanders)}"
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


def setting_rows(effects: Sequence[SettingEffect]) -> list[tuple[str, ...]]:
    """Setting and value, factor, limits, share, alone, last."""
    return [
        (
            f"{effect.setting} = {effect.value}",
            ratio_words(effect.factor),
            f"95 % CI {interval_words(effect.interval)}",
            f"{percent(effect.share)} of the effect",
            f"alone {ratio_words(effect.alone)}" if effect.alone is not None else "alone -",
            f"last {ratio_words(effect.last)}" if effect.last is not None else "last -",
        )
        for effect in effects
    ]


def interval_words(limits: tuple[float | None, float | None]) -> str:
    """0.46 to 0.58, or 12x to 15x slower."""
    low, high = limits
    if low is None or high is None:
        return "not known yet"
    if high < 1 and low > 0 and high < 0.05:
        return slower_range(low, high)
    return f"{times(low).removesuffix('x')} to {times(high).removesuffix('x')}"


def effect_words(effect: Effect, than: str = "") -> str:
    """3.2x slower, 95 % CI 3.0x to 3.4x slower."""
    limits = interval_words((effect.low, effect.high))
    if effect.low is not None and effect.high is not None and effect.high < 1 and effect.low > 0:
        limits = slower_range(effect.low, effect.high)
    return f"{slower(effect.ratio)}{f' than {than}' if than else ''}, 95 % CI {limits}"


def kept_words(keeps: float) -> str:
    """A part of a logarithm; more than all of it where others go the other way."""
    return "all" if keeps >= 1.0 else percent(keeps)


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


def names_words(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    if not names:
        return "none"
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {count(more, 'other')}" if more > 0 else "")


def assay_trust(found: Assay) -> str:
    parts = [f"{count(found.blocks, 'block')} for the whole", f"{count(found.trials, 'trial')} in all"]
    if found.resolution is not None:
        parts.append(f"single settings from {times(found.resolution)} on were found")
    return ", ".join([*parts, clock(found.spent_s)])


# Search


def search_lines(found: Search) -> Iterator[str]:
    yield search_headline(found)
    yield f"  rate       {number(found.base_per_s)} {found.counted.value} per second on the base"
    if found.effects:
        yield "  settings"
        yield from _indented(setting_rows(found.effects))
    others = [name for name in found.settings if name not in {effect.setting for effect in found.effects}]
    if others:
        yield "  beside     " + ", ".join(f"{name} = {found.settings[name]}" for name in others)
    if found.rule is not None:
        yield f"  rule       {rule_words(found)}"
    if found.p99_ratio is not None:
        memory = f", memory {times(found.memory_ratio)}" if found.memory_ratio is not None else ""
        yield f"  costs      p99 latency {times(found.p99_ratio)}{memory}, found to base"
    for words in found.dropped_by_rule:
        yield f"  dropped    {words}"
    for words in found.rejected_by_guard[:_NAMED]:
        yield f"  guard      {words}"
    yield f"  trust      {search_trust(found)}"
    if found.untried:
        yield f"  untried    {count(len(found.untried), 'value')}: the budget was over"


def search_headline(found: Search) -> str:
    word = "SLOWEST" if found.aim is Aim.WORST else "FASTEST"
    if not found.settings:
        return f"NOTHING FOUND   no value made a step {'down' if found.aim is Aim.WORST else 'up'}"
    effect = effect_words(found.effect) if found.effect is not None else "not confirmed"
    return f"{word} FOUND   {effect}; {count(len(found.settings), 'setting')}"


def rule_words(found: Search) -> str:
    rule = found.rule
    if rule is None:
        return "not checked"
    if not rule.passed:
        return f"broken: {rule.problem}"
    first = f", the first after at most {rule.first_commit_s:.0f} s" if rule.first_commit_s is not None else ""
    return (
        f"kept: all of {count(rule.clients, 'client')} connected, {count(rule.transactions, 'transaction')} "
        f"committed within {rule.within_s:.0f} s{first}"
    )


def search_trust(found: Search) -> str:
    counts = ", ".join(f"{amount} {OUTCOME_WORDS[AttemptOutcome(name)]}" for name, amount in found.outcomes.items())
    return (
        f"{count(found.blocks, 'fresh block')}; {count(found.trials, 'trial')}, {clock(found.spent_s)}; tried: {counts}"
    )


OUTCOME_WORDS = {
    AttemptOutcome.DONE: "measured",
    AttemptOutcome.PRUNED: "stopped early",
    AttemptOutcome.REJECTED: "rejected",
    AttemptOutcome.REFUSED: "refused at start",
    AttemptOutcome.CLIENTS_FAILED: "with failing clients",
    AttemptOutcome.NO_WORK: "without completed work",
}


# Bisect


def bisect_lines(found: Bisect) -> Iterator[str]:
    yield from bisect_headlines(found)
    yield "  releases"
    yield from _indented(release_rows(found))
    for change in found.changes:
        if change.why is not None:
            yield f"  why        {change.after}: {change.why}"
        words = defaults_words(change)
        if words is not None:
            yield f"  defaults   {change.after}: {words}"
    for before, after in found.undecided:
        yield f"  undecided  {before} and {after}"
    yield (f"  trust      {count(found.trials, 'trial')}, {clock(found.spent_s)}; {error_words(found)}")


def bisect_headlines(found: Bisect) -> Iterator[str]:
    """A line for each change, or one that says that there is none."""
    if found.word is BisectWord.NO_CHANGE:
        ends = f"{found.versions[0]} to {found.versions[-1]}"
        yield f"NO CHANGE   {ends} do not differ by more than {percent(found.margin)}"
        return
    if found.word is BisectWord.INCONCLUSIVE:
        yield f"INCONCLUSIVE   no change found, and neighbours may differ by more than {percent(found.margin)}"
        return
    for change in found.changes:
        yield f"CHANGED {change_words(change)}"


def error_words(found: Bisect) -> str:
    """How often it finds a change where there is none."""
    number_of = found.comparisons
    return "5 % error" if number_of == 1 else f"5 % error for all {count(number_of, 'comparison')} together"


def change_words(change: ChangeFound) -> str:
    where = f"in {change.after}" if change.neighbours else f"between {change.before} and {change.after}"
    return f"{where}   {effect_words(change.effect, change.before)}"


def release_rows(found: Bisect) -> list[tuple[str, ...]]:
    """Version, what was counted per second, ratio to the first one with limits, p99, buffer hits."""
    rows: list[tuple[str, ...]] = []
    for release in found.releases:
        if release.failure is not None:
            rows.append((release.version, "-", f"failed: {release.failure}", "", ""))
            continue
        effect = release.against_first
        limits = "" if release is found.releases[0] else interval_words((effect.low, effect.high))
        rows.append(
            (
                release.version,
                f"{number(release.rate_per_s)} {found.counted.value}/s",
                f"{times(effect.ratio)}{f' ({limits})' if limits else ''}",
                f"p99 {number(release.p99_us / 1000)} ms" if release.p99_us is not None else "",
                f"{number(release.buffer_hits_per_transaction)} hits/txn"
                if release.buffer_hits_per_transaction is not None
                else "",
            )
        )
    return rows


def defaults_words(change: ChangeFound) -> str | None:
    """Settings whose defaults are other ones; those that came or went are counted."""
    moved = [default for default in change.defaults if default.before is not None and default.after is not None]
    if not change.defaults:
        return None
    named = ", ".join(f"{changed.setting} {changed.before} -> {changed.after}" for changed in moved[:_DEFAULTS])
    rest = len(change.defaults) - min(len(moved), _DEFAULTS)
    return ", ".join(part for part in (named, f"{count(rest, 'other difference')}" if rest else "") if part)


def _indented(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    for row in rows:
        yield ("    " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
