"""The verdict as the terminal shows it: the word first, then what it rests on, one aligned line each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from pgclinic.experiment.extend import blocks_that_decide, needed_by
from pgclinic.judge.block_means import block_spread
from pgclinic.model.doubt import Doubt
from pgclinic.model.study import Question, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import ClaimVerdict, MechanismSeen, PublishedSeen, Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.parts.colour import rendered
from pgclinic.report.sections.ladder.steps import is_ladder, ladder_steps
from pgclinic.report.sections.ladder.text import ladder_lines
from pgclinic.report.sections.next.step import NextStep, more_command, next_rows
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, counter_words, number, percent
from pgclinic.report.words.quantities import range_of_measure
from pgclinic.report.words.verdicts import (
    answer,
    claim_of,
    interval_text,
    outcome,
    reason_for_invalid,
    stated,
    word_in_full,
)
from pgclinic.samples.machine_cost import cost_of

_STYLES = {
    VerdictWord.REPLICATED: "bold green",
    VerdictWord.CONFIRMED: "bold green",
    VerdictWord.REPLICATED_IN_DIRECTION: "bold green",
    VerdictWord.NO_EFFECT: "bold blue",
    VerdictWord.NOT_REPLICATED: "bold red",
    VerdictWord.NOT_CONFIRMED: "bold red",
    VerdictWord.CONTRADICTED: "bold red",
    VerdictWord.INCONCLUSIVE: "bold yellow",
    VerdictWord.INVALID: "bold magenta",
}
_LABEL_WIDTH = 12
_WINDOWS_SHOWN = 8


@dataclass(frozen=True)
class RunPaths:
    """The run folder and the report, as the user would type them; None if they are not written.

    ``resume_note`` is what must be added to the command that continues the run, such as a password.
    """

    folder: str | None = None
    report: str | None = None
    resume_note: str | None = None


def verdict_text(
    study: Study,
    trials: Sequence[TrialRecord],
    verdict: Verdict,
    places: RunPaths = RunPaths(),
    *,
    todo: NextStep | None = None,
    colour: bool = False,
    width: int = 100,
) -> str:
    """All claims of a run, the headline first, wrapped to ``width`` columns, without a last line break."""
    text = Text()
    first = tuple(next_rows(todo, places.resume_note)) if todo is not None else ()
    if is_ladder(verdict):
        _ladder(text, study, trials, verdict, places, width, first)
        text.rstrip()
        return rendered(text, colour)
    for index, claim_verdict in enumerate(verdict.claims):
        if index:
            text.append("\n")
        claim = claim_of(study, claim_verdict)
        _headline(text, claim, claim_verdict, width)
        rows = [*(first if index == 0 else ()), *_claim_rows(claim, claim_verdict, width)]
        if index == 0:
            rows.extend(_trust_rows(trials, verdict))
        if index == len(verdict.claims) - 1:
            rows.extend(_place_rows(places, blocks_that_decide(needed_by(verdict), trials), first))
        for label, content in rows:
            _row(text, label, content, width)
    text.rstrip()
    return rendered(text, colour)


def _ladder(
    text: Text,
    study: Study,
    trials: Sequence[TrialRecord],
    verdict: Verdict,
    places: RunPaths,
    width: int,
    first: Sequence[tuple[str, str]],
) -> None:
    """The headline, the ladder it stands for, and every other claim in a line, for a ladder has one a step."""
    claim = claim_of(study, verdict.headline)
    _headline(text, claim, verdict.headline, width)
    for label, content in (*first, *_claim_rows(claim, verdict.headline, width)):
        _row(text, label, content, width)
    text.append("\n")
    for index, line in enumerate(ladder_lines(ladder_steps(study, verdict), width)):
        text.append(f"{line}\n", style="dim" if index < 2 else "")
    text.append("\n")
    _claim_lines(text, study, verdict.claims[1:], width)
    for label, content in (
        *_trust_rows(trials, verdict),
        *_place_rows(places, blocks_that_decide(needed_by(verdict), trials), first),
    ):
        _row(text, label, content, width)


def _claim_lines(text: Text, study: Study, claims: Sequence[ClaimVerdict], width: int) -> None:
    """A claim a line, its word first; the interval is left out where there is no room for it."""
    if not claims:
        return
    sentences = [answer(claim_of(study, claim), claim) for claim in claims]
    space = max(len(word_in_full(claim)) for claim in claims)
    # Where the longest would not fit under one another, every claim takes the room that it needs.
    space = space if 2 + space + 3 + max(map(len, sentences)) <= width else 0
    for one, sentence in zip(claims, sentences, strict=True):
        word, limits = f"  {word_in_full(one).upper():<{space}}", _limits(claim_of(study, one).measure, one)
        fits = len(word) + 3 + len(sentence) + 3 + len(limits) <= width
        gap = "   " if len(word) + 3 + len(sentence) <= width else "\n    "
        text.append(word, style=_STYLES[one.word])
        text.append(f"{gap}{sentence}" + (f"   {limits}" if limits and fits else "") + "\n")
    text.append("\n")


def _limits(measure: str, verdict: ClaimVerdict) -> str:
    interval = verdict.interval
    if verdict.word is VerdictWord.INVALID or interval is None or interval.low is None or interval.high is None:
        return ""
    return range_of_measure(measure, (interval.low, interval.high), interval.ratio)


def _headline(text: Text, claim: Question, verdict: ClaimVerdict, width: int) -> None:
    word = word_in_full(verdict).upper()
    sentence, interval = outcome(claim, verdict), interval_text(verdict.interval, claim.measure)
    text.append(word, style=_STYLES[verdict.word])
    if verdict.word is VerdictWord.INVALID:
        _no_answer(text, claim, verdict, width)
        return
    if len(word) + len(sentence) + len(interval) + 7 <= width:
        text.append(f"   {sentence}    {interval}\n")
        return
    if len(word) + 3 + len(sentence) <= width:
        text.append(f"   {sentence}\n")
    else:
        text.append("\n")
        _row(text, "measured", sentence, width)
    _row(text, "interval", interval, width)


def _no_answer(text: Text, claim: Question, verdict: ClaimVerdict, width: int) -> None:
    """The reason first: a figure that is refused must not be read as the result."""
    reason = answer(claim, verdict)
    if len(word_in_full(verdict)) + 3 + len(reason) <= width:
        text.append(f"   {reason}\n")
    else:
        text.append("\n")
        _row(text, "no answer", reason.removeprefix("No answer: "), width)
    if verdict.interval is not None:
        _row(
            text,
            "refused",
            f"{outcome(claim, verdict)}, {interval_text(verdict.interval, claim.measure)}",
            width,
            style="dim",
        )


def _claim_rows(claim: Question, verdict: ClaimVerdict, width: int) -> Iterator[tuple[str, str]]:
    if verdict.word is VerdictWord.INVALID:
        yield "reason", reason_for_invalid(verdict)
    if verdict.word is VerdictWord.INCONCLUSIVE:
        yield "needs", _needs(verdict)
    yield stated(claim)
    if verdict.published_others:
        yield "others", "; ".join(_other(other) for other in verdict.published_others)
    if verdict.mechanisms:
        yield "why", "; ".join(_mechanism(seen) for seen in verdict.mechanisms)
    if any(window.measured_tps is not None for window in verdict.windows):
        yield from _windows(claim, verdict, width)


def _other(seen: PublishedSeen) -> str:
    place = "inside the CI" if seen.supported else "outside"
    return f"{seen.text} ({place}{', nearest' if seen.nearest else ''})"


def _needs(verdict: ClaimVerdict) -> str:
    if verdict.blocks_needed is None:
        return "more blocks are not expected to decide it: the ratio is too close to a limit"
    return f"about {count(verdict.blocks_needed, 'more block')} to decide it"


def _mechanism(seen: MechanismSeen) -> str:
    control = "unknown" if seen.control is None else counter_words(seen.counter, seen.control)
    arm = "unknown" if seen.arm is None else counter_words(seen.counter, seen.arm)
    return f"{seen.about} {control} -> {arm}" + ("" if seen.moved else " (did not change as claimed)")


def _windows(claim: Question, verdict: ClaimVerdict, width: int) -> Iterator[tuple[str, str]]:
    shown = verdict.windows[:_WINDOWS_SHOWN]
    published = [number(window.published_tps) for window in shown]
    measured = ["-" if window.measured_tps is None else number(window.measured_tps) for window in shown]
    columns = [max(len(one), len(other)) for one, other in zip(published, measured, strict=True)]
    arm = claim.published_windows.arm if claim.published_windows is not None else claim.arm
    length = shown[0].end_s - shown[0].start_s
    note = f"TPS published, {arm}, {length:g} s each"
    while sum(columns) + 2 * len(columns) + len(note) > width - _LABEL_WIDTH - 2 and len(columns) > 1:
        columns.pop()
    for label, values, tail in (("windows", published, note), ("", measured, "TPS here")):
        cells = "  ".join(value.rjust(space) for value, space in zip(values, columns, strict=False))
        yield label, f"{cells}  {tail}"


def _trust_rows(trials: Sequence[TrialRecord], verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "trust", _trust(trials, verdict.headline, verdict)
    yield from doubt_rows(verdict.doubts)


def doubt_rows(doubts: Sequence[Doubt]) -> Iterator[tuple[str, str]]:
    """Each doubt and what to do about it, as rows of label and content."""
    for doubt in doubts:
        words = doubt_words(doubt)
        yield "doubt", words.text
        yield "advice", words.advice


def _trust(trials: Sequence[TrialRecord], claim: ClaimVerdict, verdict: Verdict) -> str:
    parts = []
    spread = block_spread(claim.blocks)
    if spread is not None:
        parts.append(f"blocks differ by {percent(spread)}")
    cost = cost_of(trials)
    if cost is not None:
        parts.append(server_words(cost))
        parts.append(f"observers {percent(cost.observer_share)}")
    if verdict.trials_failed:
        parts.append(f"{count(verdict.trials_failed, 'trial')} failed")
    doubts = "no doubts" if not verdict.doubts else count(len(verdict.doubts), "doubt")
    return "; ".join(part for part in (", ".join(parts), doubts) if part)


def _place_rows(
    places: RunPaths, blocks: int | None, first: Sequence[tuple[str, str]] = ()
) -> Iterator[tuple[str, str]]:
    """The run and its report; what decides other claims than the headline is not what is done ``first``."""
    if places.folder is not None and blocks is not None:
        command = more_command("study run", places.folder, blocks)
        if ("", command) not in first:
            yield "continue", command
            yield from ([("", places.resume_note)] if places.resume_note is not None else [])
    if places.report is not None:
        yield "report", places.report
    if places.folder is not None:
        yield "again", f"pgclinic study judge {places.folder}"


def _row(text: Text, label: str, content: str, width: int, style: str = "") -> None:
    """A label and its content, wrapped with a hanging indent. Commands and paths are never wrapped."""
    indent = " " * (2 + _LABEL_WIDTH)
    if label in ("report", "again", "continue", "windows", ""):
        lines = [content]
    else:
        lines = textwrap.wrap(content, max(20, width - len(indent)), break_long_words=False, break_on_hyphens=False)
    text.append(f"  {label:<{_LABEL_WIDTH}}", style="dim")
    text.append(f"\n{indent}".join(lines or [""]), style=style)
    text.append("\n")
