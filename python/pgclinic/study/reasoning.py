"""The steps from trials to a word, as sentences with their figures: what the report prints under "how"."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.study import Claim
from pgclinic.model.trial import Doubt, TrialRecord
from pgclinic.model.verdict import Interval, IntervalMethod, MechanismSeen, StepSeen, VerdictWord
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.stats.summary import standard_deviation
from pgclinic.study.blocks import DECLINE, TPS, Evidence, Pair
from pgclinic.study.figures import count, counter_words, number, percent, ratio, span, times
from pgclinic.study.interval import FEW_EVENTS, total_counts
from pgclinic.study.sweep import SweepFinding
from pgclinic.study.tail_window import tail_length
from pgclinic.study.trust import STARVED_SHARE, starved_trials
from pgclinic.study.vocabulary import Ground, direction_of


def blocks_step(claim: Claim, evidence: Evidence) -> tuple[str, ...]:
    """Which blocks were used, and why the others were not."""
    used = len(evidence.pairs)
    total = used + len(evidence.left_out)
    if total == 0:
        return ("No block has run.",)
    first = (
        f"{used} of {count(total, 'block')} can be used; in each, {claim.control} and {claim.arm} ran one after the "
        f"other, in counterbalanced order."
    )
    return (first, *(f"{reason[0].upper()}{reason[1:]}." for reason in evidence.left_out))


def ratio_step(claim: Claim, evidence: Evidence, interval: Interval) -> tuple[str, ...]:
    """What was compared and what each block gave."""
    pairs = evidence.pairs
    each = ", ".join(ratio(pair.as_ratio.ratio) for pair in pairs)
    text = f"{_what_counts(claim)}: {each}. {_middle(pairs, interval)}"
    if len(pairs) > 1:
        spread = standard_deviation([pair.log_ratio for pair in pairs])
        text += f"; they differ by {percent(math.expm1(spread))} from block to block (standard deviation)"
    few = [pair.few_transactions for pair in pairs if pair.few_transactions is not None]
    if not few:
        return (f"{text}.",)
    warning = (
        f"{count(len(few), 'block')} had fewer than 30 transactions in a trial's part that counts (the fewest: "
        f"{min(few)}): there the ratio is coarse, and none at all counts as the most that none allows, 3."
    )
    return (f"{text}.", warning)


def _what_counts(claim: Claim) -> str:
    if claim.measure == DECLINE:
        part = "" if claim.tail_s is None else f" its last {tail_length(claim.tail_s)} s of"
        return (
            f"A trial counts by how far its TPS came over{part} the measured time, end over begin along the median "
            f"slope of their logarithm (Theil and Sen), over the seconds since the start that all trials of the block "
            f"have; a block's ratio is {claim.arm} / {claim.control}, so that what happened to both does not count"
        )
    if claim.measure != TPS:
        reference = claim.reference_value
        beside = claim.control if reference is None else f"the reference value {number(reference)}"
        return f"A trial counts by its {claim.measure}; a block's ratio is {claim.arm} / {beside}"
    part = "" if claim.tail_s is None else f" in its last {tail_length(claim.tail_s)} s"
    opening = f"A trial counts by its transactions per second (TPS){part}; a block's ratio is"
    if claim.levels:
        return (
            f"{opening} that of {claim.arm} to {claim.control} on the straight line through all "
            f"{len(claim.levels)} levels, both axes logarithmic"
        )
    return f"{opening} {claim.arm} / {claim.control}"


def sweep_steps(claim: Claim, evidence: Evidence, sweep: SweepFinding) -> tuple[str, ...]:
    """What the order of all levels says beside the size, and where the curve bends."""
    rising = direction_of(claim) > 0
    trend = sweep.trend
    question = (
        f"Is there a {'rising' if rising else 'falling'} trend over the {len(claim.levels)} levels? Page's L is "
        f"{trend.statistic:,.0f} where chance gives {trend.expected:,.0f}, over {count(len(evidence.pairs), 'block')}"
    )
    if sweep.fixed:
        order = f"{question}: p = {trend.p_value:.2g}."
    else:
        order = (
            f"{question}; the odds that the level matters so are {ratio(sweep.e_value)} to 1, as one may look at them "
            "after every block."
        )
    steps = (order, *(_step_text(step) for step in sweep.steps))
    if sweep.knee_level is None:
        return steps
    return (*steps, f"The curve bends most at level {sweep.knee_level:g}; that is for the eye, it was not tested.")


def _step_text(step: StepSeen) -> str:
    name = f"Step from {number(step.before)} to {number(step.after)}: {times(step.ratio)}"
    if step.low is None or step.high is None:
        return f"{name}, without an interval yet."
    word = "shown" if step.shown else "it goes the other way" if step.opposed else "not shown"
    return f"{name}, 95 % CI {span((step.low, step.high))}: {word}."


def _middle(pairs: Sequence[Pair], interval: Interval) -> str:
    if interval.method is not IntervalMethod.COUNTS:
        return f"Their geometric mean is {ratio(interval.ratio)}"
    total = total_counts(pairs)
    return (
        f"Taken together that is {count(total.arm, 'commit')} in {total.arm_s:,.0f} s against "
        f"{count(total.control, 'commit')} in {total.control_s:,.0f} s: {ratio(interval.ratio)}"
    )


def interval_step(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return (
            f"{count(interval.blocks, 'block')} cannot bound the ratio: an interval that stays valid however often one "
            f"looks at it has ends from block {first_bounded()} on."
        )
    bounds = span((interval.low, interval.high))
    if interval.method is IntervalMethod.COUNTS:
        return (
            f"The 95 % interval of the ratio is {bounds}: limits for counts (Poisson), because one arm had fewer than "
            f"{FEW_EVENTS} events in all blocks together; wider where the counts vary more between blocks than chance "
            "explains."
        )
    if interval.method is IntervalMethod.FIXED_BLOCKS:
        return (
            f"The 95 % interval of the ratio is {bounds}: the t interval of the logarithms of the {interval.blocks} "
            "block ratios. Their number was settled before the run, so nobody could stop it on what he saw."
        )
    return (
        f"The 95 % interval of the ratio is {bounds}: an always-valid t interval of the "
        f"logarithms of the {interval.blocks} block ratios. One may look at it after every block, stop the run on it, "
        "and still be wrong in no more than 1 of 20 studies."
    )


def ground_step(claim: Claim, ground: Ground) -> str:
    return (
        f"{_stated(claim)} The claim holds for a ratio of {span(ground.region)} ({_region_source(claim, ground)}); "
        f"{span(ground.null_zone)} is the equivalence margin."
    )


def _stated(claim: Claim) -> str:
    """What the source prints, or what is expected and why."""
    if claim.expected is not None:
        return f"No source prints this; it is expected: {claim.expected.reason.rstrip('.')}."
    if claim.published is None:
        return ""
    figure = "a direction" if claim.published_ratio is None else times(claim.published_ratio)
    return f"Published is {figure}: {claim.published.text.rstrip('.')}."


def _region_source(claim: Claim, ground: Ground) -> str:
    if claim.region is not None:
        return (claim.region_reason or "the study file names it").rstrip(".")
    if claim.published_ratio is None:
        return "all that lies beyond the equivalence margin" if ground.direction else "the equivalence margin"
    if ground.direction == 0:
        return "a claim of no difference claims the equivalence margin"
    if claim.published is not None and claim.published.bound is not None:
        return "from half the published effect on, as logarithms, for the source gives a limit"
    return "half to twice the published effect, as logarithms"


def mechanism_step(seen: MechanismSeen, claim: Claim) -> str:
    name = seen.about
    if seen.arm is None or seen.control is None:
        blind = claim.arm if seen.arm is None else claim.control
        return f"The cause cannot be shown: {name} could not be read in {blind}, so it counts as not moved."
    change = f", {times(seen.arm / seen.control)}" if seen.control > 0 else ""
    bound = "at least" if seen.ratio_min >= 1 else "at most"
    result = "it moved as the claimed cause demands" if seen.moved else "it did not move as the claimed cause demands"
    way = "growing" if seen.ratio_min >= 1 else "shrinking"
    if seen.one_way is not None:
        result += f", and it kept {way} in each trial" if seen.one_way else f": it did not keep {way} in each trial"
    return (
        f"Cause: {name} went from {counter_words(seen.counter, seen.control)} ({claim.control}) to "
        f"{counter_words(seen.counter, seen.arm)} ({claim.arm}){change}; {bound} "
        f"{seen.ratio_min:g}x was needed: {result}."
    )


def starved_step(trials: Sequence[TrialRecord]) -> str:
    starved = len(starved_trials(trials))
    return (
        f"Refused: in {starved} of {count(len(trials), 'trial')} used, others took {percent(STARVED_SHARE)} or more "
        "of the CPU time that the trial was ready to use. Such a ratio tells more of the neighbours than of the arms."
    )


def gate_step(failure: Doubt) -> str:
    return f"Refused: the A/A calibration failed: {failure.text}. Differences between other arms would be no better."


def never_started_step(arm: str, why: str) -> str:
    return f"{arm} never had a running server, so there is nothing to compare: {why}."


_LAST_STEP = {
    VerdictWord.REPLICATED: "The whole interval lies inside the claimed region: replicated.",
    VerdictWord.CONFIRMED: "The whole interval lies where it was expected: confirmed.",
    VerdictWord.REPLICATED_IN_DIRECTION: "The whole interval lies on the claimed side of the null zone, but not all of "
    "it in the claimed region: replicated in direction, ",
    VerdictWord.NO_EFFECT: "The whole interval lies inside the null zone: no effect.",
    VerdictWord.CONTRADICTED: (
        "The whole interval lies where the claim says it cannot, beyond the null zone: contradicted."
    ),
}


#: Of a sweep the order of the levels decides as well.
_LAST_STEP_OF_SWEEP = {
    VerdictWord.CONFIRMED: "The trend over the levels is the expected one and the whole interval lies where it was "
    "expected: confirmed.",
    VerdictWord.REPLICATED: "The trend over the levels is the claimed one and the whole interval lies inside the "
    "claimed region: replicated.",
    VerdictWord.REPLICATED_IN_DIRECTION: "The trend over the levels is the claimed one, but not all of the interval "
    "lies in the claimed region, or not every step that is claimed is shown: replicated in direction, ",
    VerdictWord.CONTRADICTED: "The trend over the levels, or a step that is claimed, goes the other way: contradicted.",
}


def conclusion(
    word: VerdictWord,
    qualifier: str | None,
    blocks_needed: int | None,
    *,
    bounded: bool,
    moved: bool,
    by_order: bool = False,
) -> str:
    """The last step: why this word and no other. ``bounded``: the interval has ends; ``moved``: all counters did;
    ``by_order``: it is a sweep with a direction."""
    if word is VerdictWord.INCONCLUSIVE:
        reason = "The interval still crosses an edge that matters" if bounded else "There are too few blocks for a word"
        if by_order and bounded:
            reason = "The size is open, or the order of the levels is not shown yet"
        return f"{reason}: inconclusive. {_outlook(blocks_needed)}"
    if word is VerdictWord.INVALID:
        if not moved:
            return "A change without its cause says nothing about the claim: invalid."
        return "The experiment cannot speak for or against the claim: invalid."
    size = f"{qualifier} than claimed." if qualifier else "and its size is still open."
    last = _LAST_STEP_OF_SWEEP.get(word, _LAST_STEP[word]) if by_order else _LAST_STEP[word]
    return last + size if word is VerdictWord.REPLICATED_IN_DIRECTION else last


def _outlook(blocks_needed: int | None) -> str:
    if blocks_needed is None:
        return "More blocks alone would hardly decide it: the ratio lies too near to an edge."
    return f"About {count(blocks_needed, 'more block')} would decide it, as far as can be told now."
