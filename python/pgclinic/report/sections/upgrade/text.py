"""An upgrade for the terminal: the answer first, what to do before, what changes, why, and how far to trust it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pgclinic.model.output import UpgradeOutput
from pgclinic.model.upgrade import Preflight, StatementUpgraded, Upgrade
from pgclinic.report.parts.rows import row_lines
from pgclinic.report.sections.next.step import NextStep, next_lines
from pgclinic.report.sections.side_by_side.text import threshold_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import percent
from pgclinic.report.words.terms import term_rows
from pgclinic.report.words.transport import closed_loop_words, outside_words
from pgclinic.report.words.upgrade import (
    analyze_command,
    before_analyze_row,
    before_analyze_words,
    cause_words,
    change_words,
    default_rows,
    fix_words,
    no_cause_words,
    plan_words,
    preflight_rows,
    short,
    since_words,
    slower_before_analyze,
    trust_words,
    unjudged_words,
    upgrade_sentence,
)

_LABEL_WIDTH = 11
_FASTER_NAMED = 5
_BEFORE_ANALYZE_NAMED = 8
_WIDTH = 100


def upgrade_output(found: Upgrade, run: str, report: str | None) -> UpgradeOutput:
    """What ``--json`` prints."""
    return UpgradeOutput(run=run, report=report, upgrade=found)


def preflight_text(seen: Preflight, after: str, *, width: int = _WIDTH) -> str:
    """What is known before anything runs."""
    lines = list(_labelled("before the upgrade", list(preflight_rows(seen, after)), width))
    lines += _labelled("defaults that change", list(default_rows(seen, after)), width)
    if not lines:
        return f"  before     nothing has to be done: PostgreSQL {after} takes these settings, objects and statements"
    return "\n".join(lines)


def _labelled(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    if rows:
        yield f"  {title}"
        for label, words in rows:
            yield from _row(label, words, width, indent=4)


def upgrade_text(
    found: Upgrade, places: Sequence[tuple[str, str]] = (), *, todo: NextStep | None = None, width: int = _WIDTH
) -> str:
    """The whole answer; ``places`` are files to name at the end."""
    sentence = upgrade_sentence(found)
    lines = [*_wrapped(f"UPGRADE   {sentence}", width), *next_lines(todo, _LABEL_WIDTH, width)]
    for label, words in term_rows(sentence):
        lines += _row(label, words, width)
    lines.append(preflight_text(found.preflight, found.after, width=width))
    if found.slower:
        lines.append("  slower")
        for one in found.slower:
            lines += _slower(one, found, width)
    if found.faster:
        lines.append("  faster")
        for one in found.faster[:_FASTER_NAMED]:
            lines += _row(percent(one.time_share), change_words(one), width, indent=4)
            lines.append(f"    {'':<{_LABEL_WIDTH}}{short(one.text)[: width - 16]}")
        if len(found.faster) > _FASTER_NAMED:
            lines.append(f"    and {len(found.faster) - _FASTER_NAMED} others")
    lines += _plans_alone(found, width)
    lines += _before_analyze(found, width)
    for label, words in _rows(found):
        lines += _row(label, words, width)
    lines += [f"  {name:<{_LABEL_WIDTH}}{path}" for name, path in places]
    return "\n".join(line.rstrip() for line in lines)


def _slower(one: StatementUpgraded, found: Upgrade, width: int) -> Iterator[str]:
    yield from _row(percent(one.time_share), change_words(one), width, indent=4)
    yield f"    {'':<{_LABEL_WIDTH}}{short(one.text)[: width - 16]}"
    if one.cause is not None:
        yield from _row("cause", cause_words(one.cause, found.before), width, indent=6)
        yield from _row("fix", fix_words(one.cause), width, indent=6)
    elif one.tried_causes:
        yield from _row("cause", f"not found: {no_cause_words(one)}", width, indent=6)
    rows = (("plan", plan_words(one)), ("since", since_words(one, found.bisected)))
    for label, words in rows:
        if words is not None:
            yield from _row(label, words, width, indent=6)


def _plans_alone(found: Upgrade, width: int) -> Iterator[str]:
    """Plans that change without a change of time."""
    others = [one for one in found.statements if one.plan_changed and one not in (*found.slower, *found.faster)]
    if not others:
        return
    yield "  other plans, about the same time"
    for one in others:
        yield f"    {percent(one.time_share):<{_LABEL_WIDTH}}{short(one.text)[: width - 16]}"
        words = plan_words(one)
        if words is not None:
            yield from _row("plan", words, width, indent=6)


def _before_analyze(found: Upgrade, width: int) -> Iterator[str]:
    seen = found.before_analyze
    if seen is None:
        return
    yield "  the hours before ANALYZE"
    yield from _row("what", before_analyze_words(seen, found), width, indent=4)
    for one in slower_before_analyze(seen)[:_BEFORE_ANALYZE_NAMED]:
        yield from _row(percent(one.time_share), before_analyze_row(one), width, indent=4)
        yield f"    {'':<{_LABEL_WIDTH}}{short(one.text)[: width - 16]}"
    if seen.statements:
        yield from _row("ends it", analyze_command(seen, found), width, indent=4)


def _rows(found: Upgrade) -> Iterator[tuple[str, str]]:
    seen = found.comparison
    yield from (("fail-if", words) for words in unjudged_words(found))
    if seen is not None:
        yield "blocks", f"a is {found.before}, b is {found.after}"
        for threshold in seen.thresholds:
            yield "fail-if", threshold_words(threshold)
        if seen.transport is not None:
            told = (closed_loop_words(seen.transport, seen.interval), outside_words(seen.transport))
            yield from (("twin", words) for words in told if words is not None)
        for doubt in seen.doubts:
            yield "doubt", doubt_words(doubt).text
    yield "trust", trust_words(found)


def _row(label: str, words: str, width: int, indent: int = 2) -> list[str]:
    return row_lines(label, words, width, _LABEL_WIDTH, indent=indent)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False)
