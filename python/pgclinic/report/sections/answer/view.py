"""The answer of a study or a comparison, and one claim as pages show it: every cell is already in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgclinic.judge.block_means import t_interval_of
from pgclinic.judge.evidence import TPS
from pgclinic.model.compare import Comparison
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Question, Source, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import ClaimVerdict, IntervalMethod, MechanismSeen, Verdict, WindowSeen
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.asked import asked_words
from pgclinic.report.sections.blocks.picture import IntervalPicture, interval_picture
from pgclinic.report.sections.measure.picture import MeasurePicture, measure_picture
from pgclinic.report.sections.measure.sweep import Sweep, sweep_of
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.sections.side_by_side.text import resolution, sentence, why_invalid
from pgclinic.report.sections.waits.two_arms import cause_lines
from pgclinic.report.sections.what_was_run.view import arm_rows, workload_rows
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, counter_words, number, percent, ratio, span, times
from pgclinic.report.words.quantities import factor, range_of_measure, told_as_factor
from pgclinic.report.words.reasons import sentences
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.verdicts import (
    MARKS,
    answer,
    beside,
    capitalised,
    claim_of,
    interval_text,
    measure_words,
    measured_words,
    plain_sentence,
    reason_for_invalid,
    revision_words,
    stated,
    stated_figure,
    stated_in_full,
    word_in_full,
)
from pgclinic.samples.machine_cost import cost_of

_NONE = "-"

#: Mark and style of each word; the styles are those of verdicts.
_COMPARED = {
    CompareWord.FASTER: ("▲", "replicated"),
    CompareWord.SLOWER: ("▼", "contradicted"),
    CompareWord.NO_DIFFERENCE: ("=", "no-effect"),
    CompareWord.INCONCLUSIVE: ("?", "inconclusive"),
    CompareWord.INVALID: ("!", "invalid"),
}


@dataclass(frozen=True)
class ClaimView:
    """``kind`` names the style of the word, ``ratio`` is the big figure and ``ratio_about`` what it is a figure of;
    tables are rows of cells. ``compared`` says what of a trial counts; ``sweep`` is None for a claim about two arms.

    ``reason`` says why there is no answer, and is None where there is one: a ratio beside it is refused.
    ``own`` draws what the claim compares in its own unit, and is None for throughput, which is drawn over time.
    ``plain_interval`` is the ordinary t interval, None unless the number of blocks was fixed before the run.
    """

    claim: Question
    kind: str
    mark: str
    word: str
    ratio: str | None
    ratio_about: str
    outcome: str
    interval: str
    published: str
    origin: str
    stated: str
    revisions: tuple[str, ...]
    sentence: str
    reason: str | None
    picture: IntervalPicture
    region: str
    null_zone: str
    compared: str
    windows: tuple[tuple[str, ...], ...]
    windows_arm: str | None
    mechanisms: tuple[tuple[str, ...], ...]
    mechanisms_moved: bool
    how: tuple[str, ...]
    block_heads: tuple[str, ...]
    blocks: tuple[tuple[str, ...], ...]
    own: MeasurePicture | None
    sweep: Sweep | None
    plain_interval: str | None


@dataclass(frozen=True)
class StudyAnswer:
    """The first screen. ``arms`` are rows of name, description and what is different; ``names`` are all of them.

    ``why`` are the causes of a comparison's answer, empty where none is known.
    """

    name: str
    title: str
    is_comparison: bool
    source: Source
    claim: ClaimView
    arms: tuple[tuple[str, str, str], ...]
    names: tuple[str, ...]
    why: tuple[str, ...]
    asked: str
    todo: NextStep
    terms: tuple[str, ...]
    has_doubts: bool
    trust: str
    server: str


def study_answer(one: ReportedStudy) -> StudyAnswer:
    """The headline; with a comparison its word and its sentence."""
    study, trials, verdict, comparison = one.study, one.trials, one.verdict, one.comparison
    headline, todo = claim_views(one)[0], study_next(one)
    return StudyAnswer(
        name=study.name,
        title=capitalised(study.title),
        is_comparison=comparison is not None,
        source=study.source,
        claim=headline,
        arms=arm_rows(study, trials),
        names=tuple(study.arms),
        why=cause_lines(comparison.causes) if comparison is not None else (),
        asked=asked_words(one),
        todo=todo,
        terms=term_words(headline.sentence, headline.interval, todo.words),
        has_doubts=bool(verdict.doubts),
        trust=trust_line(trials, verdict),
        server=workload_rows(one.run, study, verdict, trials)[0][1],
    )


def claim_views(one: ReportedStudy) -> tuple[ClaimView, ...]:
    """Every claim, the headline first; a comparison has its open question alone."""
    if one.comparison is not None:
        return (compare_view(claim_view(one.run, one.study, one.trials, one.verdict.headline), one.comparison),)
    return tuple(claim_view(one.run, one.study, one.trials, claim) for claim in one.verdict.claims)


def trust_line(trials: Sequence[TrialRecord], verdict: Verdict) -> str:
    """Why to believe it, in a few words."""
    if not trials:
        return "no trial ran"
    doubts = verdict.doubts
    named = f": {doubt_words(doubts[0]).label}" if len(doubts) == 1 else ""
    parts = [f"{count(len(doubts), 'doubt')}{named}" if doubts else "no doubts"]
    if verdict.trials_failed:
        parts.append(f"{count(verdict.trials_failed, 'trial')} failed")
    cost = cost_of(trials)
    if cost is not None:
        parts.append(server_words(cost))
    return ", ".join(parts)


def claim_view(run: RunInfo, study: Study, trials: Sequence[TrialRecord], verdict: ClaimVerdict) -> ClaimView:
    claim = claim_of(study, verdict)
    published = claim.published_windows
    return ClaimView(
        claim=claim,
        kind=verdict.word.value.replace(" ", "-"),
        mark=MARKS[verdict.word],
        word=word_in_full(verdict),
        ratio=big_figure(claim, verdict),
        ratio_about=_ratio_about(claim, verdict),
        outcome=answer(claim, verdict),
        interval=interval_text(verdict.interval, claim.measure),
        published=stated_figure(claim),
        origin=capitalised(stated(claim)[0]),
        stated=stated_in_full(claim)[1],
        revisions=tuple(revision_words(revision) for revision in (*study.revisions, *claim.revisions)),
        sentence=plain_sentence(claim, verdict),
        reason=reason_for_invalid(verdict) if verdict.word is VerdictWord.INVALID else None,
        picture=interval_picture(verdict, is_open=claim.is_open, measure=claim.measure),
        region=range_of_measure(claim.measure, verdict.region_edges, claim.published_ratio),
        null_zone=span(verdict.null_zone),
        compared=compared(claim),
        windows=window_rows(verdict.windows),
        windows_arm=published.arm if published is not None else None,
        mechanisms=tuple(mechanism_row(seen) for seen in verdict.mechanisms),
        mechanisms_moved=all(seen.moved for seen in verdict.mechanisms),
        how=sentences(verdict.reasons),
        block_heads=block_heads(claim),
        blocks=block_rows(claim, verdict, trials),
        own=measure_picture(study, claim, verdict),
        sweep=sweep_of(study, claim, trials, verdict),
        plain_interval=plain_interval(run, study, verdict),
    )


def compare_view(view: ClaimView, comparison: Comparison) -> ClaimView:
    """The view of the open question, with the comparison's word, sentence and reasoning; nothing was published."""
    mark, kind = _COMPARED[comparison.word]
    detects = resolution(comparison)
    return replace(
        view,
        kind=kind,
        mark=mark,
        word=comparison.word.value,
        sentence=f"{sentence(comparison)}." + (f" {capitalised(detects)}." if detects is not None else ""),
        reason=why_invalid(comparison) if comparison.word is CompareWord.INVALID else None,
        published="",
        how=sentences(comparison.reasons),
    )


def big_figure(claim: Question, verdict: ClaimVerdict) -> str | None:
    """0.52x, or 2,160x where "slower than" follows."""
    if verdict.interval is None:
        return None
    value = verdict.interval.ratio
    return f"{factor(1 / value)}x" if _is_slower(claim, verdict) else times(value)


def _is_slower(claim: Question, verdict: ClaimVerdict) -> bool:
    """Whether the ratio is shown as a slowdown factor, which only TPS can have."""
    interval = verdict.interval
    return claim.measure == TPS and interval is not None and told_as_factor(interval.ratio, interval.high)


def _ratio_about(claim: Question, verdict: ClaimVerdict) -> str:
    if claim.is_open and claim.measure == TPS:
        return f"{claim.arm} / {beside(claim)}, transactions per second"
    part = f", TPS in the last {claim.tail_s:g} s of each trial" if claim.measure == TPS and claim.tail_s else ""
    if _is_slower(claim, verdict):
        return f"slower, {claim.arm} against {claim.control}{part}"
    return f"{claim.arm} / {beside(claim)}{part}"


def compared(claim: Question) -> str:
    """What of each trial counts for a claim: TPS in its last 10 s, bytes per table."""
    if claim.measure != TPS:
        return measure_words(claim)
    return f"TPS in the last {claim.tail_s:g} s of each" if claim.tail_s is not None else "TPS over the whole of each"


def plain_interval(run: RunInfo, study: Study, verdict: ClaimVerdict) -> str | None:
    """The ordinary t interval, which is narrower, where the run could not be stopped on what it showed."""
    profile = study.profiles.get(run.profile)
    if verdict.interval is None or verdict.interval.method is not IntervalMethod.ALWAYS_VALID:
        return None
    if profile is None or profile.blocks_min != profile.blocks_max or len(verdict.blocks) != profile.blocks_max:
        return None
    return span(t_interval_of(verdict.blocks))


def window_rows(windows: Sequence[WindowSeen]) -> tuple[tuple[str, ...], ...]:
    """Window, published and measured TPS, and both against their own first window: machines differ, shapes need not."""
    if not windows:
        return ()
    published_first, measured_first = windows[0].published_tps, windows[0].measured_tps
    rows = []
    for window in windows:
        measured = window.measured_tps
        rows.append(
            (
                f"{window.start_s:g}-{window.end_s:g} s",
                number(window.published_tps),
                number(measured) if measured is not None else _NONE,
                percent(window.published_tps / published_first) if published_first else _NONE,
                percent(measured / measured_first) if measured is not None and measured_first else _NONE,
            )
        )
    return tuple(rows)


def mechanism_row(seen: MechanismSeen) -> tuple[str, ...]:
    """Counter, control, arm, change, what was needed, and whether it moved."""
    bound = "at least" if seen.ratio_min >= 1 else "at most"
    return (
        seen.about,
        counter_words(seen.counter, seen.control) if seen.control is not None else _NONE,
        counter_words(seen.counter, seen.arm) if seen.arm is not None else _NONE,
        times(seen.arm / seen.control) if seen.arm is not None and seen.control else _NONE,
        f"{bound} {seen.ratio_min:g}x",
        "✓\u00a0confirmed" if seen.moved else "✗ did not change",
    )


def block_heads(claim: Question) -> tuple[str, ...]:
    words = measure_words(claim)
    control = (
        f"{claim.control}, {words}" if claim.reference_value is None else f"{capitalised(stated(claim)[0])} {words}"
    )
    heads = (f"{claim.control} TPS", f"{claim.arm} TPS") if claim.measure == TPS else (control, f"{claim.arm}, {words}")
    return ("Block", "Order", *heads, "Ratio")


def block_rows(claim: Question, verdict: ClaimVerdict, trials: Sequence[TrialRecord]) -> tuple[tuple[str, ...], ...]:
    """Every block that ran: its order, what the claim compares of both arms, and their ratio."""
    used = {block.block: block for block in verdict.blocks}
    rows: list[tuple[str, ...]] = []
    for block in sorted({trial.spec.block for trial in trials}):
        inside = sorted((t for t in trials if t.spec.block == block), key=lambda trial: trial.spec.number)
        order = ", ".join(_with_outcome(trial) for trial in inside)
        seen = used.get(block)
        if seen is None:
            rows.append((str(block), order, _NONE, _NONE, "excluded"))
        else:
            values = (measured_words(claim, value) for value in (seen.control_value, seen.arm_value))
            rows.append((str(block), order, *values, ratio(seen.ratio)))
    return tuple(rows)


def _with_outcome(trial: TrialRecord) -> str:
    return trial.spec.arm if trial.outcome is TrialOutcome.DONE else f"{trial.spec.arm} (failed)"
