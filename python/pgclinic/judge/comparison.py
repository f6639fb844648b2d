"""(Study, trials, verdict) -> Comparison: the words and figures of an open question. Pure, as judging is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import ClaimEvidence, gather
from pgclinic.judge.interval import FIRST_LOOK, interval_about
from pgclinic.judge.reasons import block_reasons, interval_reason, ratio_reasons, refusing, transport_reason
from pgclinic.judge.thresholds import judge_ratios
from pgclinic.model.activity import Activity, Cause
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import ArmCompared, Comparison, Measure, MeasureCompared
from pgclinic.model.reason import Answer, BlocksRaised, CalibrationAdvisedAgainst, NoDifference, NoUsableBlock, Reason
from pgclinic.model.study import Counter, Profile, Question, Study
from pgclinic.model.threshold import Threshold
from pgclinic.model.transport import Transport
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import ClaimVerdict, Interval, InvalidReason, Verdict
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.samples.activity import compare_activity
from pgclinic.samples.causes import find_causes
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.stats.calibration import POWER, smallest_effect
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.counterbalanced import block_mean
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.student_t import quantile, t_half_width
from pgclinic.stats.summary import mean, standard_deviation

_LATENCIES = {
    Measure.MEAN: "mean_us",
    Measure.P50: "p50_us",
    Measure.P90: "p90_us",
    Measure.P95: "p95_us",
    Measure.P99: "p99_us",
    Measure.P999: "p999_us",
}
_COUNTERS = {Measure.WAL: Counter.WAL_BYTES_PER_TRANSACTION, Measure.HITS: Counter.HIT_RATIO}


def compare(
    study: Study,
    trials: Sequence[TrialRecord],
    verdict: Verdict,
    profile: Profile,
    thresholds: Sequence[Threshold] = (),
    calibration: Calibration | None = None,
    blocks_fixed: int | None = None,
) -> Comparison:
    """What a run of ``comparison_study`` says. ``verdict`` is that of ``judge`` on the same trials and profile.

    ``blocks_fixed`` is the number of blocks that was fixed beforehand and raised later.
    """
    claim, seen = study.questions[0], verdict.headline
    evidence = gather(claim, trials)
    fixed = profile.blocks_fixed == len(evidence.pairs) and len(evidence.pairs) >= FIRST_LOOK
    word = word_for(seen)
    activity = compare_activity([(pair.control, pair.arm) for pair in evidence.pairs])
    measures = tuple(_measures(evidence, seen, fixed=fixed))
    return Comparison(
        name=study.title,
        word=word,
        a=_side(study, claim.control, trials, evidence),
        b=_side(study, claim.arm, trials, evidence),
        interval=seen.interval,
        null_zone=seen.null_zone,
        measures=measures,
        thresholds=judge_ratios(thresholds, measures, valid=word is not CompareWord.INVALID),
        doubts=verdict.doubts,
        reasons=(*_raised(blocks_fixed), *_reasons(claim, evidence, seen, word, calibration)),
        server_version=verdict.server_version,
        smallest_effect=_smallest_effect(evidence, seen.interval, fixed=fixed),
        blocks_needed=seen.blocks_needed,
        calibration=calibration,
        invalid_because=_invalid_because(seen, calibration) if word is CompareWord.INVALID else None,
        causes=_causes(word, activity),
        activity=activity,
        transport=seen.transport,
    )


def _raised(blocks_fixed: int | None) -> tuple[Reason, ...]:
    return () if blocks_fixed is None else (BlocksRaised(fixed_at=blocks_fixed),)


def _causes(word: CompareWord, activity: Activity | None) -> tuple[Cause, ...]:
    """Only an answer has a cause: what differs between arms that are equally fast does not matter."""
    if activity is None or word not in (CompareWord.FASTER, CompareWord.SLOWER):
        return ()
    return find_causes(activity, "b" if word is CompareWord.SLOWER else "a")


def _invalid_because(seen: ClaimVerdict, calibration: Calibration | None) -> InvalidReason:
    if calibration is not None and calibration.refusal is not None:
        return InvalidReason.CALIBRATION_REFUSED
    return seen.invalid_because or InvalidReason.NO_BLOCK


def word_for(seen: ClaimVerdict) -> CompareWord:
    """Where the interval lies; *faster* and *slower* lie entirely beyond what counts as no difference.

    On a twin it is that of the server time of the original's workload, else that of the throughput.
    """
    interval, (low, high) = seen.interval, seen.null_zone
    if seen.word is VerdictWord.INVALID or interval is None:
        # Without a single block nothing was compared.
        return CompareWord.INVALID
    if seen.transport is not None:
        return seen.transport.word
    if interval.low is None or interval.high is None:
        return CompareWord.INCONCLUSIVE
    if interval.low > high:
        return CompareWord.FASTER
    if interval.high < low:
        return CompareWord.SLOWER
    return CompareWord.NO_DIFFERENCE if low <= interval.low and interval.high <= high else CompareWord.INCONCLUSIVE


def value_of(measure: Measure, trial: TrialRecord) -> float | None:
    """What one trial gave; None where it did not."""
    load = trial.load
    if load is None or load.measured_s <= 0:
        return None
    match measure:
        case Measure.TPS:
            value: float | None = load.tps
        case Measure.STATEMENTS:
            value = load.statements / load.measured_s
        case Measure.WAL | Measure.HITS:
            value = trial.counters.get(_COUNTERS[measure])
        case Measure.CPU:
            committed = load.transactions + load.warm_up_transactions
            used_s = trial.cpu.server_s if trial.cpu is not None else None
            value = used_s * 1e6 / committed if used_s is not None and committed else None
        case _:
            value = float(getattr(load.latency, _LATENCIES[measure])) if load.latency.count else None
    return value


def _measures(evidence: ClaimEvidence, seen: ClaimVerdict, *, fixed: bool) -> list[MeasureCompared]:
    """All that every block can tell; the TPS have the interval that the word was found by."""
    found = []
    b_later = [pair.arm_later for pair in evidence.pairs]
    horizon = seen.interval.blocks_planned if seen.interval is not None else None
    for measure in Measure:
        pairs = [(value_of(measure, pair.control), value_of(measure, pair.arm)) for pair in evidence.pairs]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known or len(known) < len(pairs):
            continue
        found.append(
            MeasureCompared(
                measure=measure,
                a=mean([a for a, _ in known]),
                b=mean([b for _, b in known]),
                interval=seen.interval if measure is Measure.TPS else _interval(known, b_later, horizon, fixed=fixed),
            )
        )
    return found


def _interval(
    pairs: Sequence[tuple[float, float]], b_later: Sequence[bool], horizon: int | None, *, fixed: bool
) -> Interval | None:
    if any(min(pair) <= 0 for pair in pairs):
        return None
    return interval_about(block_mean([log_ratio(b, a) for a, b in pairs], b_later), fixed=fixed, horizon=horizon)


def _side(study: Study, name: str, trials: Sequence[TrialRecord], evidence: ClaimEvidence) -> ArmCompared:
    own = [trial for trial in trials if trial.spec.arm == name]
    return ArmCompared(
        about=study.arms[name].about,
        trials=len(evidence.pairs),
        failed=sum(trial.outcome is TrialOutcome.FAILED for trial in own),
    )


def _smallest_effect(evidence: ClaimEvidence, interval: Interval | None, *, fixed: bool) -> float | None:
    """How large a difference would have to be so that this many blocks of this noise tell its direction."""
    values = [pair.log_ratio for pair in evidence.pairs]
    blocks, deviation = len(values), standard_deviation(values) if len(values) > 1 else 0.0
    if blocks < (FIRST_LOOK if fixed else first_bounded()):
        return None
    if not fixed:
        return -math.expm1(-smallest_effect(deviation, blocks, horizon=interval.blocks_planned if interval else None))
    likely = quantile(POWER, blocks - 1) * deviation / math.sqrt(blocks)
    return -math.expm1(-(NULL_EFFECT + t_half_width(blocks, deviation) + likely))


def _refusal(seen: ClaimVerdict, calibration: Calibration | None) -> Reason:
    """Why there is no answer."""
    if calibration is not None and calibration.refusal is not None:
        return CalibrationAdvisedAgainst(refusal=calibration.refusal)
    refused = refusing(seen.reasons) if seen.word is VerdictWord.INVALID else None
    return refused if refused is not None else NoUsableBlock()


def _reasons(
    claim: Question, evidence: ClaimEvidence, seen: ClaimVerdict, word: CompareWord, calibration: Calibration | None
) -> tuple[Reason, ...]:
    """The steps in order, the answer last."""
    steps = list(block_reasons(claim, evidence))
    if seen.interval is not None:
        steps.extend(ratio_reasons(claim, evidence, seen.interval))
        steps.append(interval_reason(seen.interval))
    if seen.transport is not None:
        steps.append(transport_reason(seen.transport))
    steps.append(NoDifference(margin=seen.null_zone))
    if word is CompareWord.INVALID:
        steps.append(_refusal(seen, calibration))
    interval = seen.interval if seen.transport is None else _speed(seen.transport)
    bounded = interval is not None and interval.low is not None and interval.high is not None
    steps.append(
        Answer(
            word=word,
            bounded=bounded,
            direction=_direction(interval),
            margin_share=math.expm1(NULL_EFFECT),
            blocks_needed=seen.blocks_needed,
        )
    )
    return tuple(steps)


def _speed(seen: Transport) -> Interval:
    """The server time turned round: above 1 is faster, as for throughput."""
    bounded = seen.low is not None and seen.high is not None and seen.low > 0
    return Interval(
        ratio=1.0 / seen.ratio,
        low=1.0 / seen.high if bounded and seen.high else None,
        high=1.0 / seen.low if bounded and seen.low else None,
        blocks=seen.blocks,
    )


def _direction(interval: Interval | None) -> int:
    """An interval that leaves out 1 shows the direction, though not that the difference is one that counts."""
    if interval is None or interval.low is None or interval.high is None:
        return 0
    if interval.low > 1:
        return 1
    return -1 if interval.high < 1 else 0
