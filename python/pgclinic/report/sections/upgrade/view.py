"""The page of an upgrade: the answer, what to do before, statements and their plans, the hours before ANALYZE."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.run import RunInfo
from pgclinic.model.upgrade import StatementUpgraded, Upgrade, UpgradeWord
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.report.parts.bars import BarRow, Bars, bars_of
from pgclinic.report.parts.hero import Hero
from pgclinic.report.parts.table import PageTable
from pgclinic.report.reported import ReportedUpgrade
from pgclinic.report.sections.load_run.view import Rows
from pgclinic.report.sections.next.twins import upgrade_next
from pgclinic.report.sections.side_by_side.text import threshold_words
from pgclinic.report.words.answers import answer_word
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import percent, span, times
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.transport import closed_loop_words, outside_words
from pgclinic.report.words.upgrade import (
    analyze_command,
    before_analyze_row,
    before_analyze_words,
    cause_words,
    default_rows,
    fix_words,
    no_cause_words,
    plan_words,
    preflight_rows,
    short,
    since_words,
    slower_before_analyze,
    time_words,
    trust_words,
    unjudged_words,
    upgrade_sentence,
    upgrade_title,
)
from pgclinic.report.words.verdicts import MARKS

_HEADS = ("Statement", "Share of the time", "Before", "After", "Ratio", "95 % CI", "Buffers", "Plan")
_BARS = 12
_WORDS = {
    UpgradeWord.SLOWER: "Slower statements",
    UpgradeWord.FASTER: "Faster statements",
    UpgradeWord.OPEN: "Undecided statements",
    UpgradeWord.OTHER_ROWS: "Statements with other rows on the two twins",
    UpgradeWord.NOT_RUN: "Statements that do not run",
    UpgradeWord.UNCHANGED: "Unchanged statements",
}


@dataclass(frozen=True)
class StatementShown:
    """A slower statement, or one with another plan: its text, what happened, pairs that say why."""

    text: str
    words: str
    rows: Rows
    before_plan: str
    after_plan: str


@dataclass(frozen=True)
class WordTable:
    """Statements of one word; ``is_open`` where the table is shown at once."""

    title: str
    table: PageTable
    is_open: bool


@dataclass(frozen=True)
class UpgradeView:
    """``picture`` is None where no statement changed."""

    hero: Hero
    before: Rows
    defaults: Rows
    picture: Bars | None
    slower: tuple[StatementShown, ...]
    other_plans: tuple[StatementShown, ...]
    tables: tuple[WordTable, ...]
    analyze: str | None
    analyze_rows: Rows
    analyze_command: str | None
    throughput: Rows


def upgrade_view(one: ReportedUpgrade) -> UpgradeView:
    found = one.found
    kind = _kind(found)
    seen = found.before_analyze
    sentence = upgrade_sentence(found)
    moved = [*found.slower, *found.faster]
    return UpgradeView(
        hero=Hero(
            title=upgrade_title(found),
            colour=kind.value.replace(" ", "-"),
            mark=MARKS[kind],
            word=answer_word(found),
            sentence=sentence,
            todo=upgrade_next(one),
            terms=term_words(sentence, one.run.server),
            facts=_facts(one.run, found),
        ),
        before=tuple(preflight_rows(found.preflight, found.after)),
        defaults=tuple(default_rows(found.preflight, found.after)),
        picture=_picture(moved, found),
        slower=tuple(_shown(statement, found) for statement in found.slower),
        other_plans=tuple(
            _shown(statement, found)
            for statement in found.statements
            if statement.plan_changed and statement not in found.slower
        ),
        tables=tuple(_tables(found)),
        analyze=before_analyze_words(seen, found) if seen is not None else None,
        analyze_rows=tuple((short(row.text), before_analyze_row(row)) for row in slower_before_analyze(seen))
        if seen is not None
        else (),
        analyze_command=analyze_command(seen, found) if seen is not None and seen.statements else None,
        throughput=_throughput(found),
    )


def _kind(found: Upgrade) -> VerdictWord:
    if found.comparison is None or found.comparison.word is CompareWord.INVALID:
        return VerdictWord.INCONCLUSIVE
    kinds = {
        CompareWord.SLOWER: VerdictWord.CONTRADICTED,
        CompareWord.FASTER: VerdictWord.REPLICATED,
        CompareWord.NO_DIFFERENCE: VerdictWord.NO_EFFECT,
    }
    return kinds.get(found.comparison.word, VerdictWord.INCONCLUSIVE)


def _facts(run: RunInfo, found: Upgrade) -> Rows:
    machine = run.machine
    return (
        ("Database", found.database),
        ("Versions", f"PostgreSQL {found.before} and {found.after}"),
        ("Machine", f"{machine.cores} cores ({machine.cpu_model})"),
        ("Trust", trust_words(found)),
        ("Seed", str(run.seed)),
    )


def _picture(moved: list[StatementUpgraded], found: Upgrade) -> Bars | None:
    """Ratios of old to new, so that a slower statement goes to the left, as in every picture."""
    rows = [
        BarRow(
            short(one.text)[:40],
            f"{times(one.ratio)} the time",
            1.0,
            1.0 / one.ratio,
            1.0 / one.high if one.high else None,
            1.0 / one.low if one.low else None,
        )
        for one in moved[:_BARS]
        if one.ratio
    ]
    return bars_of(rows, f"Speed of statements on {found.after} as ratios to {found.before}", "x")


def _shown(one: StatementUpgraded, found: Upgrade) -> StatementShown:
    rows: list[tuple[str, str]] = []
    if one.cause is not None:
        rows += [("Cause", cause_words(one.cause, found.before)), ("Fix", fix_words(one.cause))]
    elif one.tried_causes:
        rows.append(("Cause", f"not found: {no_cause_words(one)}"))
    since = since_words(one, found.bisected)
    if since is not None:
        rows.append(("Since", since))
    if not one.plan_changed:
        rows.append(("Plan", plan_words(one) or "the same on both versions"))
    return StatementShown(
        text=short(one.text),
        words=f"{percent(one.time_share)} of the time; {time_words(one.before_ms)} before, "
        f"{time_words(one.after_ms)} after",
        rows=tuple(rows),
        before_plan=(one.before_plan or "") if one.plan_changed else "",
        after_plan=(one.after_plan or "") if one.plan_changed else "",
    )


def _tables(found: Upgrade) -> list[WordTable]:
    tables = []
    for word, title in _WORDS.items():
        rows = tuple(_cells(one) for one in found.of(word))
        if rows:
            is_open = word in (UpgradeWord.SLOWER, UpgradeWord.FASTER)
            tables.append(WordTable(f"{title}: {len(rows)}", PageTable(title, _HEADS, rows), is_open))
    return tables


def _cells(one: StatementUpgraded) -> tuple[str, ...]:
    buffers = "-"
    if one.before_buffers is not None and one.after_buffers is not None:
        buffers = f"{one.before_buffers:,.0f}, {one.after_buffers:,.0f}"
    plan = "changed" if one.plan_changed else "varies" if one.plan_varies else "same"
    return (
        short(one.text),
        percent(one.time_share),
        time_words(one.before_ms),
        time_words(one.after_ms),
        times(one.ratio) if one.ratio is not None else "-",
        span((one.low, one.high)) if one.low is not None and one.high is not None else "-",
        buffers,
        plan,
    )


def _throughput(found: Upgrade) -> Rows:
    seen = found.comparison
    if seen is None:
        return (("Blocks", "none ran"), *(("Fail-if", words) for words in unjudged_words(found)))
    rows = [("Arms", f"a is {found.before}, b is {found.after}")]
    rows += [("Fail-if", threshold_words(threshold)) for threshold in seen.thresholds]
    if seen.transport is not None:
        told = (closed_loop_words(seen.transport, seen.interval), outside_words(seen.transport))
        rows += [("Twin", words) for words in told if words is not None]
    rows += [("Doubt", doubt_words(doubt).text) for doubt in seen.doubts]
    return tuple(rows)
