"""A bisection for the terminal: in which releases performance changed."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.tuning import Bisect, BisectWord, ChangeFound
from pgclinic.report.parts.columns import indented_columns
from pgclinic.report.words.effects import effect_words, interval_words
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, number, percent, times

_DEFAULTS = 6


def bisect_lines(found: Bisect) -> Iterator[str]:
    yield from bisect_headlines(found)
    yield "  releases"
    yield from indented_columns(release_rows(found))
    for change in found.changes:
        if change.why is not None:
            yield f"  why        {change.after}: {change.why}"
        words = defaults_words(change)
        if words is not None:
            yield f"  defaults   {change.after}: {words}"
    for before, after in found.undecided:
        yield f"  undecided  {before} and {after}"
    yield (f"  trust      {count(found.trials, 'trial')}, {time_words(found.spent_s)}; {error_words(found)}")


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
    if number_of == 1:
        return "5 % error: of equal releases one in 20 would be called different"
    return f"5 % error for all {count(number_of, 'comparison')} together"


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
