"""(Plan, trials) -> Verdict. Pure: no server, no clock, so that an old run can be judged again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pgclinic.judge.arms import arms_seen
from pgclinic.judge.decline import went_one_way
from pgclinic.judge.doubts.between_arms import doubts_side_by_side
from pgclinic.judge.doubts.run import different_machines, gate_failed, gathered_doubts, refused
from pgclinic.judge.evidence import OF_THE_LOAD, TPS, ClaimEvidence, gather, never_started
from pgclinic.judge.false_discovery import weighed_together
from pgclinic.judge.forecast import halving_forecast
from pgclinic.judge.interval import FIRST_LOOK, interval_of
from pgclinic.judge.lost_work import windows_too_short, without_lost_work
from pgclinic.judge.reasons import (
    block_reasons,
    counter_reason,
    interval_reason,
    ratio_reasons,
    region_reason,
    starved_reason,
    sweep_reasons,
    transport_reason,
)
from pgclinic.judge.regions import (
    MAY_CHANGE,
    Ground,
    edges_around,
    ground_of,
    on_claimed_side,
    qualifier_for,
    settled,
    word_for,
)
from pgclinic.judge.sweep import SweepSeen, judge_steps, judge_sweep, sweep_word
from pgclinic.judge.tail_window import tps_between
from pgclinic.judge.transport import block_seen, touched_tables, transported
from pgclinic.judge.twin_fidelity import twin_unlike
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.doubt import Doubt, DoubtKind
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.reason import CalibrationFailed, Conclusion, NeverStarted, Reason, SignOpen
from pgclinic.model.study import Mechanism, Question, Study
from pgclinic.model.transport import Transport
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import (
    ClaimVerdict,
    Interval,
    IntervalMethod,
    InvalidReason,
    MechanismSeen,
    PublishedSeen,
    Verdict,
    WindowSeen,
)
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.stats.blocks_needed import blocks_still_needed, deciding_half_width, first_bounded
from pgclinic.stats.summary import mean, standard_deviation


@dataclass(frozen=True)
class _Outcome:
    """A word, and the reason that leads to it beyond those that every claim has."""

    word: VerdictWord
    refusal: Reason | None = None
    qualifier: str | None = None
    blocks_needed: int | None = None
    invalid_because: InvalidReason | None = None


@dataclass(frozen=True)
class _Run:
    """What all claims of a run share. ``gate_failed`` is set where equal arms differed in its A/A calibration."""

    trials: Sequence[TrialRecord]
    blocks_fixed: int | None
    gate_failed: Doubt | None
    horizon: int | None = None
    fidelity: Fidelity | None = None
    arms: Mapping[str, ArmSpec] = field(default_factory=dict)


def judge(plan: ExperimentPlan, trials: tuple[TrialRecord, ...], beforehand: tuple[Doubt, ...] = ()) -> Verdict:
    """The verdict on every claim of the plan from all trials so far, in any order.

    ``beforehand`` are the doubts about the run as a whole; those about what the plan leaves out it has itself.
    """
    study = plan.study
    ordered = tuple(sorted(without_lost_work(trials), key=lambda trial: trial.spec.number))
    versions = sorted({trial.server_version for trial in ordered if trial.server_version is not None})
    run = _Run(ordered, plan.profile.blocks_fixed, gate_failed(beforehand), plan.horizon, plan.fidelity, plan.arms)
    claims = tuple(_judge_claim(study, claim, run) for claim in study.questions)
    known = any(doubt.kind is DoubtKind.DIFFERENT_MACHINE for doubt in beforehand)
    return Verdict(
        study=study.name,
        claims=weighed_together(claims),
        doubts=(
            *beforehand,
            *(() if known else different_machines(ordered)),
            *plan.left_out,
            *windows_too_short(trials),
            *gathered_doubts(ordered),
            *doubts_side_by_side(study, claims, ordered),
        ),
        trials_done=sum(trial.outcome is TrialOutcome.DONE for trial in ordered),
        trials_failed=sum(trial.outcome is TrialOutcome.FAILED for trial in ordered),
        server_version=" and ".join(versions) or None,
        arms=arms_seen(study, ordered),
    )


def decided(verdict: Verdict) -> bool:
    """Whether every claim has its word for good, so that the run may stop.

    A claim is decided when its interval lies entirely inside the region, inside the null zone, on the contradicted
    side, or on the claimed side and outside the region. *Replicated in direction* with an interval that straddles an
    edge of the region is not: more blocks may make it *replicated*. *Not replicated* is an answer, but while there are
    blocks left they may show whether the effect is weaker, absent or the opposite. A claim that is *invalid* because
    its counter did not move is decided when its interval is, for more blocks will not move the counter; one that is
    invalid for any other reason (a starved machine, a server that did not start) may recover and is not.
    """
    return all(_claim_decided(claim) for claim in verdict.claims)


def _claim_decided(claim: ClaimVerdict) -> bool:
    if claim.transport is not None:
        return claim.transport.is_decided
    interval = claim.interval
    if interval is None or interval.low is None or interval.high is None:
        return False
    if claim.word is VerdictWord.INVALID and all(seen.moved for seen in claim.mechanisms):
        return False
    if claim.word in MAY_CHANGE:
        # Of a sweep also one whose interval is settled, but whose order of levels is not shown.
        return False
    ground = _ground_again(claim)
    return settled((interval.low, interval.high), ground)


def _ground_again(claim: ClaimVerdict) -> Ground:
    """The edges as the verdict keeps them."""
    return Ground(region=claim.region_edges, null_zone=claim.null_zone, direction=claim.direction)


def _judge_claim(study: Study, claim: Question, run: _Run) -> ClaimVerdict:
    ground = ground_of(claim)
    evidence = gather(claim, run.trials, [study.arms[arm].level or 0.0 for arm in claim.levels])
    interval = interval_of(evidence, run.blocks_fixed, run.horizon)
    mechanisms = (
        tuple(_mechanism(claim, mechanism, evidence) for mechanism in claim.mechanisms) if evidence.pairs else ()
    )
    sweep = _sweep(claim, ground, evidence, interval)
    carried = _transport(claim, evidence, run)
    outcome = _outcome(claim, ground, evidence, interval, mechanisms, run, sweep, carried)
    return ClaimVerdict(
        claim=claim.name,
        word=outcome.word,
        interval=interval,
        region=(ground.region[0], ground.region[1] if math.isfinite(ground.region[1]) else None),
        null_zone=ground.null_zone,
        blocks=tuple(pair.as_ratio for pair in evidence.pairs),
        mechanisms=mechanisms,
        windows=_windows(claim, evidence),
        reasons=_reasons(claim, ground, evidence, interval, mechanisms, outcome, sweep, carried),
        qualifier=outcome.qualifier,
        blocks_needed=outcome.blocks_needed,
        published_others=_published_others(claim, interval),
        steps=sweep.steps if sweep is not None else (),
        invalid_because=outcome.invalid_because,
        published_ratio=claim.published_ratio,
        direction=ground.direction,
        expected=claim.expected is not None,
        transport=carried,
    )


def _published_others(claim: Question, interval: Interval | None) -> tuple[PublishedSeen, ...]:
    """Which of the source's figures the measurement supports, and which comes nearest."""
    if interval is None or not claim.published_others:
        return ()
    nearest = min(claim.published_others, key=lambda one: abs(math.log(one.ratio / interval.ratio)))
    bounds = (interval.low, interval.high)
    return tuple(
        PublishedSeen(
            ratio=other.ratio,
            text=other.text,
            supported=bounds[0] is not None and bounds[1] is not None and bounds[0] <= other.ratio <= bounds[1],
            nearest=other is nearest,
        )
        for other in claim.published_others
    )


def _mechanism(claim: Question, mechanism: Mechanism, evidence: ClaimEvidence) -> MechanismSeen:
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


def _windows(claim: Question, evidence: ClaimEvidence) -> tuple[WindowSeen, ...]:
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


def _sweep(claim: Question, ground: Ground, evidence: ClaimEvidence, interval: Interval | None) -> SweepSeen | None:
    """What the trend over the levels says; None for a claim that is no sweep, or has no blocks."""
    if not claim.levels or interval is None:
        return None
    pairs, direction = evidence.pairs, ground.direction or 1
    fixed = interval.method is IntervalMethod.FIXED_BLOCKS
    seen = judge_sweep(pairs[0].levels, [pair.values for pair in pairs], direction, fixed=fixed)
    if not claim.every_step:
        return seen
    return replace(seen, steps=judge_steps(pairs, direction, fixed=fixed, horizon=interval.blocks_planned))


def _outcome(
    claim: Question,
    ground: Ground,
    evidence: ClaimEvidence,
    interval: Interval | None,
    mechanisms: Sequence[MechanismSeen],
    run: _Run,
    sweep: SweepSeen | None,
    carried: Transport | None,
) -> _Outcome:
    if run.gate_failed is not None:
        return _Outcome(
            VerdictWord.INVALID,
            CalibrationFailed(doubt=run.gate_failed),
            invalid_because=InvalidReason.CALIBRATION_REFUSED,
        )
    if interval is None:
        return _without_blocks(claim, run.trials)
    refusal = _refusal(evidence, run, carried) if claim.measure in OF_THE_LOAD else None
    if refusal is not None:
        return refusal
    if sweep is None and (interval.low is None or interval.high is None):
        return _Outcome(VerdictWord.INCONCLUSIVE, blocks_needed=_needed(ground, evidence, interval))
    if not all(seen.moved for seen in mechanisms):
        return _Outcome(VerdictWord.INVALID, invalid_because=InvalidReason.CAUSE_NOT_SHOWN)
    return _worded(claim, _by_interval(ground, evidence, interval, sweep))


def _refusal(evidence: ClaimEvidence, run: _Run, carried: Transport | None) -> _Outcome | None:
    """Why no answer can rest on what the load did."""
    if refused(evidence.trials):
        starved = starved_reason(evidence.trials)
        return _Outcome(VerdictWord.INVALID, starved, invalid_because=InvalidReason.STARVED_CPU)
    if carried is not None:
        if carried.word is not CompareWord.INVALID:
            return None
        turns = SignOpen(
            outside=carried.outside + carried.rough,
            outside_share=carried.outside_share + carried.rough_share,
            low=carried.low or 0.0,
            high=carried.high or 0.0,
        )
        return _Outcome(VerdictWord.INVALID, turns, invalid_because=InvalidReason.TWIN_UNLIKE)
    unlike = twin_unlike(run.fidelity, [(pair.control, pair.arm) for pair in evidence.pairs])
    if unlike is not None:
        return _Outcome(VerdictWord.INVALID, unlike, invalid_because=InvalidReason.TWIN_UNLIKE)
    return None


def _transport(claim: Question, evidence: ClaimEvidence, run: _Run) -> Transport | None:
    """What the blocks on a twin say of its original; None elsewhere, and for claims of other measures or of sweeps."""
    if run.fidelity is None or claim.measure != TPS or claim.levels or not evidence.pairs:
        return None
    seen = [block_seen(pair.control, pair.arm) for pair in evidence.pairs]
    load = evidence.pairs[0].control.load
    return transported(
        run.fidelity,
        [block for block, _ in seen],
        touched=_touched(run.arms.get(claim.control), run.arms.get(claim.arm)),
        null_zone=ground_of(claim).null_zone,
        fixed=run.blocks_fixed == len(evidence.pairs) and len(evidence.pairs) >= FIRST_LOOK,
        by_server=all(by_server for _, by_server in seen),
        sessions=load.clients if load is not None else 0,
    )


def _touched(control: ArmSpec | None, arm: ArmSpec | None) -> frozenset[str] | None:
    """The tables by which two arms on a twin differ; None where they differ in more than that."""
    if control is None or arm is None or control.settings != arm.settings or control.server != arm.server:
        return None
    changes = [one.dataset.changes for one in (control, arm) if isinstance(one.dataset, TwinDataset)]
    return touched_tables(line for text in changes for line in text.splitlines() if line.strip())


def _worded(claim: Question, outcome: _Outcome) -> _Outcome:
    """An expectation names a direction only: it is confirmed or not, and a size that is open leaves it open."""
    if claim.expected is None:
        return outcome
    match outcome.word:
        case VerdictWord.REPLICATED:
            return replace(outcome, word=VerdictWord.CONFIRMED)
        case VerdictWord.NOT_REPLICATED:
            return replace(outcome, word=VerdictWord.NOT_CONFIRMED)
        case VerdictWord.REPLICATED_IN_DIRECTION:
            return replace(outcome, word=VerdictWord.INCONCLUSIVE, qualifier=None)
    return outcome


def _by_interval(ground: Ground, evidence: ClaimEvidence, interval: Interval, sweep: SweepSeen | None) -> _Outcome:
    bounds = (interval.low or 0.0, interval.high or math.inf)
    by_size = word_for(bounds, ground)
    word = by_size if sweep is None else sweep_word(bounds, ground, sweep)
    if word is VerdictWord.INCONCLUSIVE:
        needed = 1 if by_size is not word else _needed(ground, evidence, interval)
        return _Outcome(word, blocks_needed=needed)
    sized = word is VerdictWord.REPLICATED_IN_DIRECTION and on_claimed_side(bounds, ground)
    return _Outcome(word, qualifier=qualifier_for(interval.ratio, ground) if sized else None)


def _without_blocks(claim: Question, trials: Sequence[TrialRecord]) -> _Outcome:
    for arm in (claim.control, claim.arm):
        why = never_started(arm, trials)
        if why is not None:
            refusal = NeverStarted(arm=arm, failure=why)
            return _Outcome(VerdictWord.INVALID, refusal, invalid_because=InvalidReason.NEVER_STARTED)
    return _Outcome(VerdictWord.INCONCLUSIVE, blocks_needed=first_bounded())


def _needed(ground: Ground, evidence: ClaimEvidence, interval: Interval) -> int | None:
    """How many more blocks would settle the claim, if it stays where it is and as noisy as it is."""
    values = [pair.log_ratio for pair in evidence.pairs]
    if len(values) < 2:
        return first_bounded() - len(values)
    edges = [math.log(edge) for edge in edges_around(interval.ratio, ground)]
    wanted = deciding_half_width(math.log(interval.ratio), edges)
    return blocks_still_needed(len(values), standard_deviation(values), wanted, horizon=interval.blocks_planned)


def _reasons(
    claim: Question,
    ground: Ground,
    evidence: ClaimEvidence,
    interval: Interval | None,
    mechanisms: Sequence[MechanismSeen],
    outcome: _Outcome,
    sweep: SweepSeen | None,
    carried: Transport | None,
) -> tuple[Reason, ...]:
    """The steps in order, the conclusion last."""
    steps = list(block_reasons(claim, evidence))
    if interval is not None:
        steps.extend(ratio_reasons(claim, evidence, interval))
        steps.append(interval_reason(interval))
    if sweep is not None:
        steps.extend(sweep_reasons(claim, evidence, sweep))
    steps.append(region_reason(claim, ground))
    steps.extend(counter_reason(seen, claim) for seen in mechanisms)
    forecast = halving_forecast(claim, [pair.arm for pair in evidence.pairs])
    if forecast is not None:
        steps.append(forecast)
    if carried is not None:
        steps.append(transport_reason(carried))
    if outcome.refusal is not None:
        steps.append(outcome.refusal)
    steps.append(
        Conclusion(
            word=outcome.word,
            qualifier=outcome.qualifier,
            blocks_needed=outcome.blocks_needed,
            bounded=interval is not None and interval.low is not None,
            moved=all(seen.moved for seen in mechanisms),
            by_order=sweep is not None and ground.direction != 0,
        )
    )
    return tuple(steps)
