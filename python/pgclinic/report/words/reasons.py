"""The steps of a verdict in words: one function a record, whole sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

from pgclinic.judge.evidence import DECLINE, TPS
from pgclinic.model.reason import (
    Answer,
    BeyondCache,
    BlockLeftOut,
    BlocksRaised,
    BlocksUsed,
    CalibrationAdvisedAgainst,
    CalibrationFailed,
    ClaimedRegion,
    Compared,
    Conclusion,
    CounterCompared,
    CountsInterval,
    FalseDiscovery,
    FewTransactions,
    FixedBlocksInterval,
    HalvingForecast,
    Knee,
    Lack,
    NeverStarted,
    NoBlockRan,
    NoDifference,
    NoUsableBlock,
    Reason,
    RegionSource,
    SequenceInterval,
    SignOpen,
    StarvedTrials,
    SweepStep,
    Transported,
    Trend,
    TwinUnlike,
    Unbounded,
    Unfit,
)
from pgclinic.report.words.conclusions import answer_words, conclusion_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, counter_words, number, percent, ratio, span, times
from pgclinic.report.words.refusals import refusal_words


def sentences(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Every step in order, as the report prints them under "how"."""
    return tuple(sentence_of(reason) for reason in reasons)


@singledispatch
def sentence_of(reason: object) -> str:
    raise TypeError(f"there are no words for {type(reason).__name__}")


@sentence_of.register
def _no_block_ran(reason: NoBlockRan) -> str:
    return "No block has run."


@sentence_of.register
def _blocks_used(reason: BlocksUsed) -> str:
    arms = reason.arms
    if len(arms) == 1:
        ran = f"in each, {arms[0]} ran once"
    elif len(arms) == 2:
        ran = f"in each, {arms[0]} and {arms[1]} ran one after the other, in counterbalanced order"
    else:
        ran = f"in each, {arms[0]} to {arms[-1]} ({len(arms)} levels) ran one after the other, in counterbalanced order"
    return f"{reason.used} of {count(reason.total, 'block')} can be used; {ran}."


@sentence_of.register
def _block_left_out(reason: BlockLeftOut) -> str:
    return f"Block {reason.block} is left out: {unfit_words(reason.unfit)}."


_LACKS = {
    Lack.DID_NOT_RUN: "{arm} did not run in it",
    Lack.FAILED: "{whose} failed: {failure}",
    Lack.PRUNED: "{whose} was stopped early, at a bound",
    Lack.INTERRUPTED: "{whose} ended early: it was interrupted",
    Lack.CLIENTS_LOST: "{whose} ended early: all its clients gave up",
    Lack.TOO_SHORT: "{whose} measured only {value:.1f} s",
    Lack.NO_COUNTER: "{whose} has no {measure}",
    Lack.NOT_POSITIVE: "{whose} has a {measure} of {value:g}, and only values above 0 have a ratio",
    Lack.NO_SLOPE: "{whose} has too few seconds with a transaction for a slope",
    Lack.NO_COMMON_SLOPE: "its trials have too few seconds in common for a slope",
    Lack.NO_TRANSACTION: "neither arm finished a transaction in its last {value:g} s",
    Lack.NO_RATIO: "{measure} is {value:g} there, which has no ratio to anything",
}


def unfit_words(unfit: Unfit) -> str:
    """What a block lacks: held (trial 4) failed: the server was killed."""
    return _LACKS[unfit.lack].format(
        whose=f"{unfit.arm} (trial {unfit.trial})",
        arm=unfit.arm,
        failure=unfit.failure or "it has no load",
        measure=unfit.measure,
        value=0.0 if unfit.value is None else unfit.value,
    )


@sentence_of.register
def _compared(reason: Compared) -> str:
    each = ", ".join(ratio(one) for one in reason.ratios)
    text = f"{_what_counts(reason)}: {each}. {_middle(reason)}"
    if reason.spread is not None:
        spread = percent(math.expm1(reason.spread))
        text += f"; they differ by {spread} from block to block (standard deviation)"
    return f"{text}."


def _what_counts(reason: Compared) -> str:
    ratios = f"{reason.arm} / {_beside(reason)}"
    if reason.measure == DECLINE:
        part = "" if reason.tail_s is None else f" its last {reason.tail_s} s of"
        return (
            f"A trial counts by how far its TPS came over{part} the measured time, end over begin along the median "
            "slope of their logarithm (Theil and Sen), over the seconds since the start that all trials of the block "
            f"have; a block's ratio is {ratios}, so that what happened to both does not count"
        )
    if reason.measure != TPS:
        return f"A trial counts by its {reason.measure}; a block's ratio is {ratios}"
    part = "" if reason.tail_s is None else f" in its last {reason.tail_s} s"
    opening = f"A trial counts by its transactions per second (TPS){part}; a block's ratio is"
    if reason.levels:
        return (
            f"{opening} that of {reason.arm} to {reason.control} on the straight line through all {reason.levels} "
            "levels, both axes logarithmic"
        )
    return f"{opening} {ratios}"


def _beside(reason: Compared) -> str:
    if reason.reference is None:
        return reason.control
    return f"the reference value {_value(reason.measure, reason.reference)}"


def _value(measure: str, value: float) -> str:
    return f"{number(value)} TPS" if measure == TPS else counter_words(measure, value)


def _middle(reason: Compared) -> str:
    total = reason.together
    if total is None:
        return f"Their geometric mean is {ratio(reason.ratio)}"
    return (
        f"All blocks together have {count(total.arm, 'commit')} in {total.arm_s:,.0f} s against "
        f"{count(total.control, 'commit')} in {total.control_s:,.0f} s: {ratio(reason.ratio)}"
    )


@sentence_of.register
def _few_transactions(reason: FewTransactions) -> str:
    return (
        f"{count(reason.blocks, 'block')} had fewer than {reason.few} transactions in a trial's part that counts (the "
        f"fewest: {reason.fewest}): there the ratio is coarse, and no transaction at all counts as {reason.when_none}, "
        "the upper bound for zero events (rule of three)."
    )


@sentence_of.register
def _unbounded(reason: Unbounded) -> str:
    return (
        f"{count(reason.blocks, 'block')} cannot bound the ratio: a confidence sequence has ends from block "
        f"{reason.bounded_from} on."
    )


@sentence_of.register
def _counts_interval(reason: CountsInterval) -> str:
    return (
        f"The 95 % CI of the ratio is {span((reason.low, reason.high))}: limits for counts (Poisson), because one arm "
        f"had fewer than {reason.few} events in all blocks together; wider where the counts vary more between blocks "
        "than chance explains."
    )


@sentence_of.register
def _fixed_blocks_interval(reason: FixedBlocksInterval) -> str:
    return (
        f"The 95 % CI of the ratio is {span((reason.low, reason.high))}: the t interval of the logarithms of the "
        f"{reason.blocks} block ratios. Their number was fixed before the run, so the result cannot have decided when "
        "to stop."
    )


@sentence_of.register
def _sequence_interval(reason: SequenceInterval) -> str:
    return (
        f"The 95 % CI of the ratio is {span((reason.low, reason.high))}: a confidence sequence (anytime-valid) of the "
        f"logarithms of the {reason.blocks} block ratios. It may be computed after every block and decide when to "
        "stop, and still errs in at most 1 of 20 studies."
    )


@sentence_of.register
def _trend(reason: Trend) -> str:
    question = (
        f"Is there a {'rising' if reason.rising else 'falling'} trend over the {reason.levels} levels? Page's L is "
        f"{reason.statistic:,.0f} where chance gives {reason.expected:,.0f}, over {count(reason.blocks, 'block')}"
    )
    if reason.p_value is not None:
        return f"{question}: p = {reason.p_value:.2g}."
    odds = ratio(reason.e_value or 0.0)
    return f"{question}; the evidence for such a trend is {odds} to 1 (e-value, anytime-valid)."


@sentence_of.register
def _sweep_step(reason: SweepStep) -> str:
    name = f"Step from {number(reason.before)} to {number(reason.after)}: {times(reason.ratio)}"
    if reason.low is None or reason.high is None:
        return f"{name}, without an interval yet."
    word = "shown" if reason.shown else "it goes the other way" if reason.opposed else "not shown"
    return f"{name}, 95 % CI {span((reason.low, reason.high))}: {word}."


@sentence_of.register
def _knee(reason: Knee) -> str:
    return f"The curve bends most at level {reason.level:g}; that is for the eye, it was not tested."


@sentence_of.register
def _claimed_region(reason: ClaimedRegion) -> str:
    region = span((reason.low, math.inf if reason.high is None else reason.high))
    holds = f"The claim holds for a ratio of {region} ({_region_source(reason)})"
    return f"{_stated(reason)}{holds}; {span(reason.margin)} is the equivalence margin."


def _stated(reason: ClaimedRegion) -> str:
    """What the source prints, or what is expected and why; nothing for an open question."""
    reference = None if reason.reference is None else _value(reason.measure, reason.reference)
    if reason.expected_because is not None:
        figure = "" if reference is None else f" {reference}"
        return f"No source prints this; it is expected{figure}: {reason.expected_because.rstrip('.')}. "
    if reason.text is None:
        return ""
    if reference is not None:
        figure = reference
    else:
        figure = "a direction" if reason.published_ratio is None else times(reason.published_ratio)
    return f"Published is {figure}: {reason.text.rstrip('.')}. "


_REGION_SOURCES = {
    RegionSource.BEYOND_MARGIN: "all that lies beyond the equivalence margin",
    RegionSource.MARGIN: "the equivalence margin",
    RegionSource.NO_DIFFERENCE: "a claim of no difference claims the equivalence margin",
    RegionSource.BOUND: "from half the published effect on, as logarithms, for the source gives a limit",
    RegionSource.EFFECT: "half to twice the published effect, as logarithms",
}


def _region_source(reason: ClaimedRegion) -> str:
    if reason.source is RegionSource.STUDY:
        return (reason.region_reason or "the study file names it").rstrip(".")
    return _REGION_SOURCES[reason.source]


@sentence_of.register
def _counter_compared(reason: CounterCompared) -> str:
    name = reason.about
    if reason.arm_value is None or reason.control_value is None:
        blind = reason.arm if reason.arm_value is None else reason.control
        return f"The cause cannot be shown: {name} could not be read in {blind}, so it counts as unchanged."
    change = f", {times(reason.arm_value / reason.control_value)}" if reason.control_value > 0 else ""
    bound = "at least" if reason.ratio_min >= 1 else "at most"
    result = "it changed as claimed" if reason.moved else "it did not change as claimed"
    way = "growing" if reason.ratio_min >= 1 else "shrinking"
    if reason.one_way is not None:
        result += f", and it kept {way} in each trial" if reason.one_way else f": it did not keep {way} in each trial"
    return (
        f"Cause: {name} went from {counter_words(reason.counter, reason.control_value)} ({reason.control}) to "
        f"{counter_words(reason.counter, reason.arm_value)} ({reason.arm}){change}; {bound} {reason.ratio_min:g}x was "
        f"needed: {result}."
    )


@sentence_of.register
def _halving_forecast(reason: HalvingForecast) -> str:
    return (
        f"In {reason.arm} the buffer hits of one update follow {reason.hits_at_zero:.1f} + "
        f"{reason.hits_per_version * 1000:.2f} for every 1,000 versions left behind (R² {reason.r_squared:.3f}). If "
        f"nothing else changes, TPS fall with the root of the time: half of {number(reason.tps_at_start)} after "
        f"{number(reason.halved_after_s)} s of such a load, {number(reason.tps_hour)} after an hour; "
        f"{number(reason.tps_hour_dear)} to {number(reason.tps_hour_cheap)} if a hit stays as expensive, or as cheap, "
        f"as it was in a tenth of the time.{_beyond_cache(reason.beyond_cache)}"
    )


def _beyond_cache(beyond: BeyondCache | None) -> str:
    if beyond is None:
        return ""
    return (
        f" By then the table has {number(beyond.versions_bytes / 2**20)} MB of versions, and beyond the processor's "
        f"last cache (often some {beyond.cache_bytes / 2**20:.0f} MB) each hit costs more: rather {number(beyond.tps)} "
        "TPS."
    )


@sentence_of.register
def _calibration_failed(reason: CalibrationFailed) -> str:
    text = doubt_words(reason.doubt).text
    return f"Refused: the A/A calibration failed: {text}. Differences between other arms would be no better."


@sentence_of.register
def _calibration_advised_against(reason: CalibrationAdvisedAgainst) -> str:
    return f"The A/A calibration advised against it: {refusal_words(reason.refusal).text}."


@sentence_of.register
def _starved_trials(reason: StarvedTrials) -> str:
    return (
        f"Refused: in {reason.starved} of {count(reason.used, 'trial')} used, others took {percent(reason.share)} or "
        "more of the CPU time that the trial was ready to use. Such a ratio says more about the neighbours than about "
        "the arms."
    )


@sentence_of.register
def _twin_unlike(reason: TwinUnlike) -> str:
    outside = (
        f"{reason.outside} of {count(reason.statements, 'statement')} with {percent(reason.outside_time_share)} of the "
        "time are out of tolerance or do not run on the twin"
    )
    if reason.judges_throughput and reason.outside_change_share is not None:
        return (
            f"Refused: {percent(reason.outside_change_share)} of the time by which statements differ between the arms "
            f"is of statements that are out of tolerance on the twin, so the answer would rest on them; {outside}."
        )
    if reason.judges_throughput:
        return f"Refused: {outside}, so its throughput says little about the original's."
    return (
        "Refused: the commits per statement of the twin are not those of the original, so nothing is said about "
        f"throughput, locks and commits; {outside}."
    )


@sentence_of.register
def _transported(reason: Transported) -> str:
    bounds = ""
    if reason.low is not None and reason.high is not None:
        bounds = f" (95 % CI {span((reason.low, reason.high))})"
    whose = "server time" if reason.by_server else "time as clients waited for it"
    words = (
        f"On the twin, statements with {percent(reason.measured_share)} of the original's time run in both arms; with "
        f"their share of that time as weights, the {whose} of the original's workload is {times(reason.ratio)} in b "
        f"over a{bounds}."
    )
    if reason.rough:
        which = count(reason.rough, "statement")
        words += (
            f" The twin's rows or buffers of {which} with {percent(reason.rough_share)} of the time are up to four "
            "times, or down to a fourth of, the original's; the bounds allow for the square of what is beyond 1.5 "
            "times."
        )
    if not reason.outside:
        return words
    which = count(reason.outside, "statement")
    return (
        f"{words} The bounds allow for {which} with {percent(reason.outside_share)} of the time, which the twin does "
        "not reproduce, to take anything from 0 to 10 times as long, or to 1.5 times where plans show a gain."
    )


@sentence_of.register
def _sign_open(reason: SignOpen) -> str:
    which = f"{count(reason.outside, 'statement')} with {percent(reason.outside_share)} of the original's time"
    return (
        f"Refused: the twin does not reproduce {which} closely enough, which "
        f"leaves its server time between {times(reason.low)} and {times(reason.high)}."
    )


@sentence_of.register
def _never_started(reason: NeverStarted) -> str:
    return f"{reason.arm} never had a running server, so there is nothing to compare: {reason.failure}."


@sentence_of.register
def _no_usable_block(reason: NoUsableBlock) -> str:
    return "No block can be used."


@sentence_of.register
def _false_discovery(reason: FalseDiscovery) -> str:
    odds = f"{ratio(reason.e_value)} to 1" if reason.e_value < 1e6 else "more than a million to 1"
    what = "its direction" if reason.of_direction else "its region"
    rate = f"a false discovery rate of {percent(reason.alpha)} (e-BH)"
    claims = count(reason.claims, "claim")
    if reason.upheld:
        return f"Among the {claims} of this study it is upheld at {rate}, by evidence of {odds} for {what}."
    return (
        f"It holds by itself, but among the {claims} of this study its evidence of {odds} for {what} is too weak to be "
        f"upheld at {rate}: of {claims}, one may look like this by chance. More blocks would decide it."
    )


@sentence_of.register
def _blocks_raised(reason: BlocksRaised) -> str:
    return (
        f"The number of blocks was fixed at {reason.fixed_at} and raised when results were known, so the interval is "
        "the confidence sequence, which allows for that."
    )


@sentence_of.register
def _no_difference(reason: NoDifference) -> str:
    return f"Ratios from {span(reason.margin)} count as no difference (the equivalence margin)."


@sentence_of.register
def _conclusion(reason: Conclusion) -> str:
    return conclusion_words(reason)


@sentence_of.register
def _answer(reason: Answer) -> str:
    return answer_words(reason)
