"""Verdicts in the words of somebody who has never heard of pgclinic."""

from __future__ import annotations

from pgclinic.judge.evidence import DECLINE, TPS
from pgclinic.judge.reasons import refusing
from pgclinic.judge.regions import region_of
from pgclinic.model.study import Bound, Counter, Direction, Question, Revision, Study
from pgclinic.model.verdict import ClaimVerdict, Interval, IntervalMethod
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.figures import count, counter_words, number, times
from pgclinic.report.words.no_answer import no_answer
from pgclinic.report.words.quantities import FACTOR_WORTH_SAYING, factor, range_of_measure, slower, told_as_factor
from pgclinic.report.words.reasons import sentence_of

#: A mark beside every word, so that colour is never the only difference.
MARKS = {
    VerdictWord.REPLICATED: "✓",
    VerdictWord.CONFIRMED: "✓",
    VerdictWord.REPLICATED_IN_DIRECTION: "≈",
    VerdictWord.NO_EFFECT: "=",
    VerdictWord.NOT_REPLICATED: "✗",
    VerdictWord.NOT_CONFIRMED: "✗",
    VerdictWord.CONTRADICTED: "✗",
    VerdictWord.INCONCLUSIVE: "?",
    VerdictWord.INVALID: "!",
}

#: What an interval rests on beyond its blocks, where it is not the one that may be looked at after every block.
_METHODS = {
    IntervalMethod.ALWAYS_VALID: "",
    IntervalMethod.FIXED_BLOCKS: ", a fixed number of blocks",
    IntervalMethod.COUNTS: ", exact for few events",
}


#: What is compared and no counter.
_MEASURES: dict[str, str] = {
    TPS: "TPS",
    DECLINE: "TPS at the end, of those at the beginning",
    Counter.TPS_KEPT_AFTER_AN_HOUR: "share of its TPS predicted for one hour",
}


_DIRECTIONS = {
    Direction.LOWER: "lower",
    Direction.HIGHER: "higher",
    Direction.EQUAL: "no difference",
    Direction.NOT_LOWER: "not lower",
    Direction.NOT_HIGHER: "not higher",
}
_BOUNDS = {Bound.AT_LEAST: "at least ", Bound.AT_MOST: "at most "}


def claim_of(study: Study, verdict: ClaimVerdict) -> Question:
    """The study's claim that this verdict is about."""
    return next(claim for claim in study.questions if claim.name == verdict.claim)


def word_in_full(verdict: ClaimVerdict) -> str:
    """The verdict's word with its qualifier: replicated in direction, weaker."""
    return f"{verdict.word.value}, {verdict.qualifier}" if verdict.qualifier else verdict.word.value


def change(ratio: float) -> str:
    """A ratio of TPS as a difference in work done: "44 % fewer", "80 % more", "3.2 times as many"."""
    if ratio >= 2:
        return f"{number(ratio)} times as many"
    if ratio >= 1.005:
        return f"{(ratio - 1) * 100:.0f} % more"
    if ratio > 0.995:
        return "as many"
    if ratio * FACTOR_WORTH_SAYING <= 1:
        return f"{factor(1 / ratio)} times fewer"
    return f"{(1 - ratio) * 100:.0f} % fewer"


def interval_text(interval: Interval | None, measure: str = TPS) -> str:
    """The interval and what it rests on: "95 % CI 0.46 to 0.58, 5 blocks", "... , exact for few events"."""
    if interval is None:
        return "no usable block"
    blocks = count(interval.blocks, "block")
    if interval.low is None or interval.high is None:
        return f"no CI yet, {blocks}"
    ends = range_of_measure(measure, (interval.low, interval.high), interval.ratio)
    return f"95 % CI {ends}, {blocks}{_METHODS[interval.method]}"


def measure_words(claim: Question) -> str:
    """What a claim compares: TPS, probe pages."""
    return _MEASURES.get(claim.measure) or claim.measure.replace("_", " ")


def measured_words(claim: Question, value: float) -> str:
    """A value of what a claim compares, with its unit where it has one."""
    return counter_words(claim.measure, value)


def beside(claim: Question) -> str:
    """What the arm is held against: the control's name, or "the published 2,400 bytes per table"."""
    if claim.reference_value is None:
        return claim.control
    origin = "expected" if claim.expected is not None else "published"
    unit = " TPS" if claim.measure == TPS else ""
    return f"the {origin} {counter_words(claim.measure, claim.reference_value)}{unit}"


def stated(claim: Question) -> tuple[str, str]:
    """Where the claim comes from, *published* or *expected*, and the figure with the source's words, or the reason."""
    if claim.expected is not None:
        return "expected", f"{_DIRECTIONS[claim.expected.direction]}: {claim.expected.reason}"
    if claim.published is None:
        return "published", "nothing: this is an open question"
    figure = stated_figure(claim).removeprefix("published ")
    return "published", f"{figure}: {claim.published.text}"


def stated_in_full(claim: Question) -> tuple[str, str]:
    """As ``stated``, and how the published ratio follows from the figures that the source prints."""
    label, text = stated(claim)
    how = claim.published.follows_from if claim.published is not None else None
    return label, f"{text} (the ratio is {how})" if how else text


def revision_words(revision: Revision) -> str:
    """2026-11-21, after results were seen: what changed. Why: the reason."""
    seen = "after results were seen" if revision.results_seen else "before any result was seen"
    return f"{revision.date}, {seen}: {revision.what.rstrip('.')}. Why: {revision.why.rstrip('.')}."


def stated_figure(claim: Question) -> str:
    """What was published or expected, short: published 0.60x, published lower, expected higher."""
    label = "expected" if claim.expected is not None else "published"
    if claim.reference_value is not None:
        return f"{label} {measured_words(claim, claim.reference_value)}"
    ratio, published = claim.published_ratio, claim.published
    if ratio is None:
        named = claim.expected.direction if claim.expected is not None else published.direction if published else None
        return f"{label} {_DIRECTIONS[named]}{_margin(claim, named)}" if named is not None else ""
    said = slower(ratio) if claim.measure == TPS and told_as_factor(ratio) else times(ratio)
    bound = published.bound if published is not None else None
    return f"{label} {_BOUNDS[bound]}{said}" if bound is not None else f"{label} {said}"


def _margin(claim: Question, named: Direction) -> str:
    """The margin of a non-inferiority, and of an equivalence that has one of its own: " (margin 0.80x to 1.25x)"."""
    low, high = region_of(claim)
    match named:
        case Direction.EQUAL if claim.region_edges is not None:
            return f" (margin {times(low)} to {times(high)})"
        case Direction.NOT_LOWER:
            return f" (margin {times(low)})"
        case Direction.NOT_HIGHER:
            return f" (margin {times(high)})"
    return ""


def capitalised(text: str) -> str:
    """The text as it begins a sentence; a first word such as postgresql.conf or xmin_horizon is a name and stays."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def outcome(claim: Question, verdict: ClaimVerdict) -> str:
    """What was seen: "held runs at 0.52x of free", "io is 2,160x slower than base"."""
    if verdict.interval is None:
        return f"{claim.arm} could not be compared with {beside(claim)}"
    if claim.measure != TPS:
        return _has(claim, verdict.interval.ratio, quoted=False)
    part = f" in the last {claim.tail_s:g} s" if claim.tail_s is not None else ""
    if told_as_factor(verdict.interval.ratio, verdict.interval.high):
        return f"{claim.arm} is {slower(verdict.interval.ratio)} than {beside(claim)}{part}"
    return f"{claim.arm} runs at {times(verdict.interval.ratio)} of {beside(claim)}{part}"


def answer(claim: Question, verdict: ClaimVerdict) -> str:
    """What was seen; of an invalid run why that is no answer."""
    if verdict.word is VerdictWord.INVALID:
        return no_answer(verdict.invalid_because, verdict.mechanisms)
    return outcome(claim, verdict)


def plain_sentence(claim: Question, verdict: ClaimVerdict) -> str:
    """One sentence that needs no other word of the report."""
    if verdict.word is VerdictWord.INVALID:
        return f"{no_answer(verdict.invalid_because, verdict.mechanisms)}."
    opening = _opening(claim, verdict)
    if verdict.interval is None:
        return f"{opening} {_ending(verdict)}".strip()
    if claim.measure != TPS:
        seen = _has(claim, verdict.interval.ratio, quoted=True)
        ratio = claim.published_ratio if claim.reference_value is None else None
        published = f"; published: {times(ratio)}" if ratio is not None else ""
        return f"{opening} {seen}{published}. {_ending(verdict)}".strip()
    amount = change(verdict.interval.ratio)
    link = "as" if amount.endswith("as many") else "than"
    part = f" in the last {claim.tail_s:g} s of each trial" if claim.tail_s is not None else ""
    seen = f"“{claim.arm}” finished {amount} transactions per second {link} “{claim.control}”{part}"
    told = f"; published: {change(claim.published_ratio)}" if claim.published_ratio is not None else ""
    return f"{opening} {seen}{told}. {_ending(verdict)}".strip()


def _has(claim: Question, ratio: float, *, quoted: bool) -> str:
    """tables-1600 has 15.8x the grown bytes of tables-100; has 1.29x of the published 2,400 bytes per table."""
    arm, control = (f"“{name}”" if quoted else name for name in (claim.arm, claim.control))
    if claim.measure == DECLINE:
        return f"{arm} kept {times(ratio)} as much of its TPS to the end as {control}"
    if claim.reference_value is not None:
        origin = "expected" if claim.expected is not None else "published"
        value = counter_words(claim.measure, claim.reference_value)
        return f"{arm} has {times(ratio)} the {origin} {measure_words(claim)} ({value})"
    return f"{arm} has {times(ratio)} the {measure_words(claim)} of {control}"


def reason_for_invalid(verdict: ClaimVerdict) -> str:
    """Why nothing can be said: the step that refuses, or the counter that did not change."""
    reason = refusing(verdict.reasons)
    return sentence_of(reason) if reason is not None else ""


_OPENINGS = {
    VerdictWord.REPLICATED: "The published result shows on this machine too:",
    VerdictWord.CONFIRMED: "It is as expected:",
    VerdictWord.NO_EFFECT: "The {origin} effect does not show on this machine:",
    VerdictWord.NOT_REPLICATED: "This machine does not show the published result:",
    VerdictWord.NOT_CONFIRMED: "This machine does not show the expected result:",
}


def _opening(claim: Question, verdict: ClaimVerdict) -> str:
    if verdict.word is VerdictWord.REPLICATED_IN_DIRECTION:
        size = f"{verdict.qualifier} than published" if verdict.qualifier else "though its size is still open"
        return f"The published effect shows on this machine, {size}:"
    if verdict.word is VerdictWord.CONTRADICTED:
        return _opposite(claim, verdict)
    if verdict.word is VerdictWord.INCONCLUSIVE:
        if verdict.interval is None:
            return "This run cannot tell yet: no block gave both figures."
        return f"This run does not show yet whether the {stated(claim)[0]} result holds here: so far"
    return _OPENINGS[verdict.word].format(origin=stated(claim)[0])


def _opposite(claim: Question, verdict: ClaimVerdict) -> str:
    origin = stated(claim)[0]
    if claim.reference_value is not None:
        return f"This machine shows another figure than was {origin}:"
    if verdict.direction == 0:
        return f"This machine shows a difference where none was {origin}:"
    return f"This machine shows the opposite of what was {origin}:"


def _ending(verdict: ClaimVerdict) -> str:
    if verdict.word is not VerdictWord.INCONCLUSIVE:
        return ""
    if verdict.blocks_needed is None:
        return "More blocks alone would hardly decide it."
    return f"About {count(verdict.blocks_needed, 'more block')} would decide it."
