"""(Study, trials) -> Verdict. Pure: no server, no clock, so that an old run can be judged again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgclinic.model.study import Claim, Mechanism, Profile, Study
from pgclinic.model.trial import Doubt, TrialOutcome, TrialRecord
from pgclinic.model.verdict import (
    ClaimVerdict,
    Interval,
    IntervalMethod,
    InvalidReason,
    MechanismSeen,
    PublishedSeen,
    Verdict,
    VerdictWord,
    WindowSeen,
)
from pgclinic.pg.version import parse_version
from pgclinic.stats.blocks_needed import blocks_still_needed, deciding_half_width, first_bounded
from pgclinic.stats.summary import mean, standard_deviation
from pgclinic.study import reasoning
from pgclinic.study.arms import arms_seen
from pgclinic.study.blocks import OF_THE_LOAD, Evidence, gather, never_started
from pgclinic.study.false_discovery import weighed_together
from pgclinic.study.fitted import Fitted, fitted
from pgclinic.study.forecast import forecast_steps
from pgclinic.study.interval import interval_of
from pgclinic.study.one_way import went_one_way
from pgclinic.study.side_by_side import doubts_side_by_side
from pgclinic.study.sweep import SweepFinding, judge_steps, judge_sweep, sweep_word
from pgclinic.study.tail_window import tps_between
from pgclinic.study.trust import gate_failed, gathered_doubts, refused
from pgclinic.study.vocabulary import (
    Ground,
    edges_around,
    ground_of,
    on_claimed_side,
    qualifier_for,
    settled,
    word_for,
)


@dataclass(frozen=True)
class _Finding:
    """A word and the sentences that lead to it beyond those that every claim has."""

    word: VerdictWord
    steps: tuple[str, ...] = ()
    qualifier: str | None = None
    blocks_needed: int | None = None
    invalid_because: InvalidReason | None = None


@dataclass(frozen=True)
class _Run:
    """What all claims of a run share. ``gate_failed`` is set where equal arms differed in its A/A calibration."""

    trials: Sequence[TrialRecord]
    blocks_fixed: int | None
    gate_failed: Doubt | None


def judge(
    study: Study,
    trials: tuple[TrialRecord, ...],
    profile: Profile | None = None,
    memory_bytes: int | None = None,
    beforehand: tuple[Doubt, ...] = (),
) -> Verdict:
    """The verdict on every claim of the study from all trials so far, in any order.

    ``profile`` is the one that was run: it tells whether the number of blocks was settled beforehand. ``memory_bytes``
    is the machine's: it tells which arms were left out. ``beforehand`` are the doubts of the run as a whole.
    """
    ordered = tuple(sorted(trials, key=lambda trial: trial.spec.number))
    versions = sorted({trial.server_version for trial in ordered if trial.server_version is not None})
    suited = _suited(study, versions, profile, memory_bytes)
    run = _Run(ordered, _blocks_fixed(profile), gate_failed(beforehand))
    claims = tuple(_judge_claim(suited.study, claim, run) for claim in suited.study.claims)
    return Verdict(
        study=study.name,
        claims=weighed_together(claims),
        doubts=(
            *beforehand,
            *suited.doubts,
            *gathered_doubts(ordered),
            *doubts_side_by_side(suited.study, claims, ordered),
        ),
        trials_done=sum(trial.outcome is TrialOutcome.DONE for trial in ordered),
        trials_failed=sum(trial.outcome is TrialOutcome.FAILED for trial in ordered),
        server_version=" and ".join(versions) or None,
        arms=arms_seen(suited.study, ordered),
    )


def _suited(study: Study, versions: Sequence[str], profile: Profile | None, memory_bytes: int | None) -> Fitted:
    """What the study claims on the server that was measured; all of it where none was."""
    if not versions:
        return Fitted(study, ())
    return fitted(study, parse_version(versions[0]).major, profile, memory_bytes)


def _blocks_fixed(profile: Profile | None) -> int | None:
    return profile.blocks_max if profile is not None and profile.blocks_min == profile.blocks_max else None


def decided(verdict: Verdict) -> bool:
    """Whether every claim has its word for good, so that the run may stop.

    A claim is decided when its interval lies entirely inside the region, inside the null zone, on the contradicted
    side, or on the claimed side and outside the region. *Replicated in direction* with an interval that straddles an
    edge of the region is not: more blocks may make it *replicated*. A claim that is *invalid* because its counter did
    not move is decided when its interval is, for more blocks will not move the counter; one that is invalid for any
    other reason (a starved machine, a server that did not start) may recover and is not.
    """
    return all(_claim_decided(claim) for claim in verdict.claims)


def _claim_decided(claim: ClaimVerdict) -> bool:
    interval = claim.interval
    if interval is None or interval.low is None or interval.high is None:
        return False
    if claim.word is VerdictWord.INVALID and all(seen.moved for seen in claim.mechanisms):
        return False
    if claim.word is VerdictWord.INCONCLUSIVE:
        # A sweep of the right size whose order is not shown.
        return False
    ground = _ground_again(claim)
    return settled((interval.low, interval.high), ground)


def _ground_again(claim: ClaimVerdict) -> Ground:
    """The edges as the verdict keeps them."""
    return Ground(region=claim.region_edges, null_zone=claim.null_zone, direction=claim.direction)


def _judge_claim(study: Study, claim: Claim, run: _Run) -> ClaimVerdict:
    ground = ground_of(claim)
    evidence = gather(claim, run.trials, [study.arms[arm].level or 0.0 for arm in claim.levels])
    interval = interval_of(evidence, run.blocks_fixed)
    mechanisms = tuple(_mechanism(claim, one, evidence) for one in claim.mechanisms) if evidence.pairs else ()
    sweep = _sweep(claim, ground, evidence, interval)
    finding = _finding(claim, ground, evidence, interval, mechanisms, run, sweep)
    how = _how(claim, ground, evidence, interval, mechanisms, finding, sweep)
    return ClaimVerdict(
        claim=claim.name,
        word=finding.word,
        interval=interval,
        region=(ground.region[0], ground.region[1] if math.isfinite(ground.region[1]) else None),
        null_zone=ground.null_zone,
        blocks=tuple(pair.as_ratio for pair in evidence.pairs),
        mechanisms=mechanisms,
        windows=_windows(claim, evidence),
        how=how,
        qualifier=finding.qualifier,
        blocks_needed=finding.blocks_needed,
        published_others=_published_others(claim, interval),
        steps=sweep.steps if sweep is not None else (),
        invalid_because=finding.invalid_because,
        published_ratio=claim.published_ratio,
        direction=ground.direction,
        expected=claim.expected is not None,
    )


def _published_others(claim: Claim, interval: Interval | None) -> tuple[PublishedSeen, ...]:
    """Which of the source's figures the measurement supports, and which comes nearest."""
    if interval is None or not claim.published_others:
        return ()
    nearest = min(claim.published_others, key=lambda one: abs(math.log(one.ratio / interval.ratio)))
    bounds = (interval.low, interval.high)
    return tuple(
        PublishedSeen(
            ratio=one.ratio,
            text=one.text,
            supported=bounds[0] is not None and bounds[1] is not None and bounds[0] <= one.ratio <= bounds[1],
            nearest=one is nearest,
        )
        for one in claim.published_others
    )


def _mechanism(claim: Claim, mechanism: Mechanism, evidence: Evidence) -> MechanismSeen:
    arm = _counter_mean(mechanism, [pair.arm for pair in evidence.pairs])
    control = _counter_mean(mechanism, [pair.control for pair in evidence.pairs])
    one_way = went_one_way(claim, mechanism, [pair.arm for pair in evidence.pairs])
    differs = arm is not None and control is not None and _moved(arm, control, mechanism.ratio_min)
    return MechanismSeen(
        counter=mechanism.counter,
        arm=arm,
        control=control,
        ratio_min=mechanism.ratio_min,
        moved=differs and one_way is not False,
        about=mechanism.about,
        one_way=one_way,
    )


def _counter_mean(mechanism: Mechanism, trials: Sequence[TrialRecord]) -> float | None:
    values = [trial.counters[mechanism.counter] for trial in trials if mechanism.counter in trial.counters]
    return mean(values) if values else None


def _moved(arm: float, control: float, ratio_min: float) -> bool:
    if ratio_min >= 1:
        return arm > control and arm >= ratio_min * control
    return arm < control and arm <= ratio_min * control


def _windows(claim: Claim, evidence: Evidence) -> tuple[WindowSeen, ...]:
    published = claim.published_windows
    if published is None:
        return ()
    chosen = [trial for trial in evidence.trials if trial.spec.arm == published.arm]
    windows = []
    for index, tps in enumerate(published.tps):
        start, end = index * published.window_s, (index + 1) * published.window_s
        seen = [tps_between(trial.load, start, end) for trial in chosen if trial.load is not None]
        known = [value for value in seen if value is not None]
        windows.append(
            WindowSeen(start_s=start, end_s=end, published_tps=tps, measured_tps=mean(known) if known else None)
        )
    return tuple(windows)


def _sweep(claim: Claim, ground: Ground, evidence: Evidence, interval: Interval | None) -> SweepFinding | None:
    """What the trend over the levels says; None for a claim that is no sweep, or has no blocks."""
    if not claim.levels or interval is None:
        return None
    pairs, direction = evidence.pairs, ground.direction or 1
    fixed = interval.method is IntervalMethod.FIXED_BLOCKS
    finding = judge_sweep(pairs[0].levels, [pair.values for pair in pairs], direction, fixed=fixed)
    if not claim.every_step:
        return finding
    return replace(finding, steps=judge_steps(pairs, direction, fixed=fixed))


def _finding(
    claim: Claim,
    ground: Ground,
    evidence: Evidence,
    interval: Interval | None,
    mechanisms: Sequence[MechanismSeen],
    run: _Run,
    sweep: SweepFinding | None,
) -> _Finding:
    if run.gate_failed is not None:
        step = reasoning.gate_step(run.gate_failed)
        return _Finding(VerdictWord.INVALID, (step,), invalid_because=InvalidReason.CALIBRATION_REFUSED)
    if interval is None:
        return _without_blocks(claim, run.trials)
    if claim.measure in OF_THE_LOAD and refused(evidence.trials):
        step = reasoning.starved_step(evidence.trials)
        return _Finding(VerdictWord.INVALID, (step,), invalid_because=InvalidReason.STARVED_CPU)
    if sweep is None and (interval.low is None or interval.high is None):
        return _Finding(VerdictWord.INCONCLUSIVE, blocks_needed=_needed(ground, evidence, interval))
    if not all(seen.moved for seen in mechanisms):
        return _Finding(VerdictWord.INVALID, invalid_because=InvalidReason.CAUSE_NOT_SHOWN)
    return _worded(claim, _by_interval(ground, evidence, interval, sweep))


def _worded(claim: Claim, finding: _Finding) -> _Finding:
    """An expectation names a direction only: it is confirmed or not, and a size that is open leaves it open."""
    if claim.expected is None:
        return finding
    match finding.word:
        case VerdictWord.REPLICATED:
            return replace(finding, word=VerdictWord.CONFIRMED)
        case VerdictWord.REPLICATED_IN_DIRECTION:
            return replace(finding, word=VerdictWord.INCONCLUSIVE, qualifier=None)
    return finding


def _by_interval(ground: Ground, evidence: Evidence, interval: Interval, sweep: SweepFinding | None) -> _Finding:
    bounds = (interval.low or 0.0, interval.high or math.inf)
    by_size = word_for(bounds, ground)
    word = by_size if sweep is None else sweep_word(bounds, ground, sweep)
    if word is VerdictWord.INCONCLUSIVE:
        needed = 1 if by_size is not word else _needed(ground, evidence, interval)
        return _Finding(word, blocks_needed=needed)
    sized = word is VerdictWord.REPLICATED_IN_DIRECTION and on_claimed_side(bounds, ground)
    return _Finding(word, qualifier=qualifier_for(interval.ratio, ground) if sized else None)


def _without_blocks(claim: Claim, trials: Sequence[TrialRecord]) -> _Finding:
    for arm in (claim.control, claim.arm):
        why = never_started(arm, trials)
        if why is not None:
            step = reasoning.never_started_step(arm, why)
            return _Finding(VerdictWord.INVALID, (step,), invalid_because=InvalidReason.NEVER_STARTED)
    return _Finding(VerdictWord.INCONCLUSIVE, blocks_needed=first_bounded())


def _needed(ground: Ground, evidence: Evidence, interval: Interval) -> int | None:
    """How many more blocks would settle the claim, if it stays where it is and as noisy as it is."""
    values = [pair.log_ratio for pair in evidence.pairs]
    if len(values) < 2:
        return first_bounded() - len(values)
    edges = [math.log(edge) for edge in edges_around(interval.ratio, ground)]
    wanted = deciding_half_width(math.log(interval.ratio), edges)
    return blocks_still_needed(len(values), standard_deviation(values), wanted)


def _how(
    claim: Claim,
    ground: Ground,
    evidence: Evidence,
    interval: Interval | None,
    mechanisms: Sequence[MechanismSeen],
    finding: _Finding,
    sweep: SweepFinding | None,
) -> tuple[str, ...]:
    steps = list(reasoning.blocks_step(claim, evidence))
    if interval is not None:
        steps.extend(reasoning.ratio_step(claim, evidence, interval))
        steps.append(reasoning.interval_step(interval))
    if sweep is not None:
        steps.extend(reasoning.sweep_steps(claim, evidence, sweep))
    steps.append(reasoning.ground_step(claim, ground))
    steps.extend(reasoning.mechanism_step(seen, claim) for seen in mechanisms)
    steps.extend(forecast_steps(claim, [pair.arm for pair in evidence.pairs]))
    steps.extend(finding.steps)
    steps.append(
        reasoning.conclusion(
            finding.word,
            finding.qualifier,
            finding.blocks_needed,
            bounded=interval is not None and interval.low is not None,
            moved=all(seen.moved for seen in mechanisms),
            by_order=sweep is not None and ground.direction != 0,
        )
    )
    return tuple(steps)
