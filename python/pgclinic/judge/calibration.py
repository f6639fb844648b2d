"""A/A trials -> what this machine can tell within the budget, or why the study should not be run on it. Pure.

An A/A calibration is six trials of one arm, one after the other: the same settings on what will be both sides. Trials
of 15 to 20 s suit best: each start brings a level of its own, so there are several, and a slice can only be judged up
to half of a trial. The gate compares the later with the earlier trial of each of the three pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.judge.doubts.run import refused
from pgclinic.judge.regions import direction_of
from pgclinic.judge.tail_window import tail_length
from pgclinic.load.by_second import transactions_by_second
from pgclinic.model.calibration import (
    BudgetTooSmall,
    Calibration,
    ClaimReach,
    CpuTakenByOthers,
    EffectTooSmall,
    EqualArmsDiffer,
    NoTrialWorked,
    Refusal,
    RefusalKind,
    SliceSeen,
    TooFewTransactions,
    TooLittleMeasured,
)
from pgclinic.model.study import Question
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.stats.autocorrelation import correlation_time
from pgclinic.stats.blocks_needed import first_bounded
from pgclinic.stats.calibration import (
    SliceNoise,
    best_slice,
    best_window,
    blocks_in_budget,
    gap_between,
    longest_length,
    restart_deviation,
    shows_no_effect,
    slice_noises,
    smallest_effect,
    window_noises,
)
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.log_ratio import log_ratio
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean
from pgclinic.trial.window_plan import GUARD_S

#: The first second after a connection is made is not like the others: caches of the session fill, arms start skewed.
DROPPED_S = 1

#: Fewer seconds in all than this show no noise worth the name.
SECONDS_MIN = 30

#: Shorter slices may look best where a switch is cheap, but counters arrive once a second and an arm needs time to act.
SLICE_MIN_S = 5

#: A mean of fewer transactions a second than this is counting noise, which the log scale does not fit.
TPS_MIN = 3.0

#: The A/A gate errs in one study of a hundred, and needs three pairs of trials to speak at all.
GATE_ALPHA = 0.01
GATE_PAIRS = 3


@dataclass(frozen=True)
class CalibratedPlan:
    """What the study will use: slices, how many blocks, and whether these are looked at once, when all have run.

    ``horizon`` is the most blocks that were planned, None where their number is fixed or nothing was planned.
    """

    noise: SliceNoise
    blocks: int
    fixed: bool
    horizon: int | None = None


def calibration_of(
    claims: Sequence[Question],
    trials: Sequence[TrialRecord],
    *,
    budget_s: float,
    block_s: float | None = None,
    blocks_max: int | None = None,
    fixed: bool = False,
) -> Calibration:
    """Judge the calibration ``trials``, all of one arm, for ``claims`` that have ``budget_s`` seconds.

    ``block_s`` is what a block of the study will take where its trials are of a given length: then claims are told by
    their tails. Without it the study is taken to use the slices that suit this machine best. ``fixed`` says that
    ``blocks_max`` blocks will be run whatever is seen, so that the narrower interval holds if the budget has room.
    """
    done = [trial for trial in trials if trial.outcome is TrialOutcome.DONE and trial.load is not None]
    series = [_settled_seconds(trial) for trial in done]
    series = [tps for tps in series if tps]
    start = Calibration(
        trials=len(series),
        seconds=sum(len(tps) for tps in series),
        budget_s=budget_s,
        switch_s=2.0 * mean([_beside_load_s(trial) for trial in done]) if done else 0.0,
    )
    longest_s = longest_length(series, gap_between(series, start.switch_s))
    refusal = _unfit(trials, done, series, longest_s)
    if refusal is not None:
        return replace(start, refusal=refusal)
    noises, restart = _noises(series, start.switch_s, min(SLICE_MIN_S, longest_s))
    seen = replace(
        start,
        restart_deviation=restart,
        independent_share=1.0 / mean([correlation_time(tps) for tps in series]),
        slices=tuple(_seen(noise) for noise in noises),
        position_ratio=_position_ratio(series),
        window_s=_window_s(series),
    )
    noise = _planned_noise(noises, claims, budget_s, block_s)
    plan = _plan(noise, budget_s, blocks_max, fixed=fixed) if noise is not None else None
    if plan is None or (not plan.fixed and plan.blocks < first_bounded()):
        return replace(seen, refusal=_too_small(start, block_s or noises[0].pair_s))
    reached = _reached(seen, noises, claims, plan)
    return replace(reached, refusal=_arms_differ(series) or _out_of_reach(reached))


def _window_s(series: Sequence[Sequence[float]]) -> float | None:
    """How long the windows of interleaved blocks are best on this machine."""
    best = best_window(window_noises(series, GUARD_S))
    return float(best.window_s) if best is not None else None


def _settled_seconds(trial: TrialRecord) -> list[float]:
    load = trial.load
    return [float(count) for count in transactions_by_second(load)[DROPPED_S:]] if load is not None else []


def _beside_load_s(trial: TrialRecord) -> float:
    """What a trial takes beyond the seconds that count."""
    measured_s = trial.load.measured_s if trial.load is not None else 0.0
    return max(0.0, trial.elapsed_s - measured_s) + DROPPED_S


def _unfit(
    trials: Sequence[TrialRecord], done: Sequence[TrialRecord], series: Sequence[Sequence[float]], longest_s: int
) -> Refusal | None:
    """Why nothing can be read off these trials."""
    if not done:
        failure = next((trial.failure for trial in trials if trial.failure), None)
        return Refusal(kind=RefusalKind.NO_TRIALS, facts=NoTrialWorked(failure=failure))
    if refused(done):
        return Refusal(kind=RefusalKind.STARVED_CPU, facts=CpuTakenByOthers())
    total = sum(len(tps) for tps in series)
    if total < SECONDS_MIN or longest_s < 1:
        facts = TooLittleMeasured(measured_s=total, trials=len(series))
        return Refusal(kind=RefusalKind.TOO_SHORT, facts=facts)
    if any(mean(tps) < TPS_MIN or _has_empty_slice(tps, min(SLICE_MIN_S, longest_s)) for tps in series):
        return Refusal(kind=RefusalKind.TOO_FEW_EVENTS, facts=TooFewTransactions(tps_min=TPS_MIN))
    return None


def _has_empty_slice(tps: Sequence[float], length_s: int) -> bool:
    return any(not any(tps[at : at + length_s]) for at in range(len(tps) - length_s + 1))


def _noises(
    series: Sequence[Sequence[float]], switch_s: float, shortest_s: int
) -> tuple[tuple[SliceNoise, ...], float]:
    """The noise of slices of every length, restarts included, and that of restarts alone."""
    without = slice_noises(series, switch_s, shortest_s=shortest_s)
    restart = restart_deviation(series, without[-1])
    return slice_noises(series, switch_s, restart, shortest_s), restart


def _plan(noise: SliceNoise, budget_s: float, blocks_max: int | None, *, fixed: bool) -> CalibratedPlan:
    room = blocks_in_budget(noise.pair_s, budget_s)
    if blocks_max is None:
        return CalibratedPlan(noise, room, fixed=False)
    horizon = None if fixed else blocks_max
    return CalibratedPlan(noise, min(room, blocks_max), fixed=fixed and room >= blocks_max, horizon=horizon)


def _planned_noise(
    noises: Sequence[SliceNoise], claims: Sequence[Question], budget_s: float, block_s: float | None
) -> SliceNoise | None:
    """The slices that the study will use. Longer tails than it could show count as noisy as its longest."""
    if block_s is None:
        return best_slice(noises, budget_s, first_bounded())
    tail_s = min((tail_length(claim.tail_s or noises[-1].length_s) for claim in claims), default=noises[0].length_s)
    known = [noise for noise in noises if noise.length_s <= tail_s] or noises[:1]
    return SliceNoise(length_s=tail_s, deviation=known[-1].deviation, pair_s=block_s, pairs=known[-1].pairs)


def _reached(
    seen: Calibration, noises: Sequence[SliceNoise], claims: Sequence[Question], plan: CalibratedPlan
) -> Calibration:
    deviation = plan.noise.cautious_deviation
    best = best_slice(noises, seen.budget_s, first_bounded())
    return replace(
        seen,
        chosen=_seen(best) if best is not None else None,
        longer_unknown=best is not None and best.length_s == noises[-1].length_s,
        planned=_seen(plan.noise),
        blocks=plan.blocks,
        smallest_effect=smallest_effect(deviation, plan.blocks, fixed=plan.fixed, horizon=plan.horizon),
        claims=tuple(
            claim_reach(claim, deviation, plan.blocks, fixed=plan.fixed, horizon=plan.horizon)
            for claim in claims
            if has_known_effect(claim)
        ),
    )


def _seen(noise: SliceNoise) -> SliceSeen:
    return SliceSeen(
        length_s=noise.length_s,
        deviation=noise.deviation,
        cautious_deviation=noise.cautious_deviation,
        pairs=noise.pairs,
        pair_s=noise.pair_s,
        score=noise.score,
    )


def _too_small(start: Calibration, block_s: float) -> Refusal:
    facts = BudgetTooSmall(budget_s=start.budget_s, blocks=first_bounded(), block_s=block_s)
    return Refusal(kind=RefusalKind.BUDGET_TOO_SMALL, facts=facts)


def claim_reach(
    claim: Question, deviation: float, blocks: int, *, fixed: bool = False, horizon: int | None = None
) -> ClaimReach:
    """Whether the claim can be told from no effect, or a claim of no difference be shown, within ``blocks`` blocks."""
    effect = math.log(claim.published_ratio or 1.0)
    looks = [blocks] if fixed else range(first_bounded(), blocks + 1)
    able = (n for n in looks if _tells(claim, deviation, n, horizon, fixed=fixed))
    likely = next(able, None)
    return ClaimReach(claim=claim.name, effect=effect, resolvable=likely is not None, blocks_likely=likely)


def has_known_effect(claim: Question) -> bool:
    """Whether the claim says how large its effect is, if only that there is none; a direction alone does not."""
    return not claim.is_open and (claim.published_ratio is not None or direction_of(claim) == 0)


def _tells(claim: Question, deviation: float, blocks: int, horizon: int | None, *, fixed: bool) -> bool:
    if direction_of(claim) == 0:
        return shows_no_effect(deviation, blocks, fixed=fixed, horizon=horizon)
    return abs(math.log(claim.published_ratio or 1.0)) >= smallest_effect(
        deviation, blocks, fixed=fixed, horizon=horizon
    )


def _pair_log_ratios(series: Sequence[Sequence[float]]) -> list[float]:
    """Later over earlier, for each two trials in a row; every trial is in one pair only."""
    return [log_ratio(mean(later), mean(earlier)) for earlier, later in zip(series[::2], series[1::2], strict=False)]


def _position_ratio(series: Sequence[Sequence[float]]) -> float | None:
    pairs = _pair_log_ratios(series)
    return math.exp(mean(pairs)) if pairs else None


def _arms_differ(series: Sequence[Sequence[float]]) -> Refusal | None:
    """The gate: with nothing changed between them, the second of two trials must not be another arm."""
    pairs = _pair_log_ratios(series)
    if len(pairs) < GATE_PAIRS:
        return None
    low, high = t_interval(pairs, GATE_ALPHA)
    if low <= NULL_EFFECT and high >= -NULL_EFFECT:
        return None
    facts = EqualArmsDiffer(change=math.expm1(mean(pairs)), pairs=len(pairs))
    return Refusal(kind=RefusalKind.ARMS_DIFFER, facts=facts)


def _out_of_reach(reached: Calibration) -> Refusal | None:
    """Refused only when no claim at all can be told: one that can is worth the run."""
    if not reached.claims or any(claim.resolvable for claim in reached.claims) or reached.smallest_effect is None:
        return None
    claimed = max(reached.claims, key=lambda claim: abs(claim.effect))
    return Refusal(
        kind=RefusalKind.CANNOT_BE_RESOLVED,
        facts=EffectTooSmall(
            blocks=reached.blocks,
            budget_s=reached.budget_s,
            smallest=reached.smallest_effect if math.isfinite(reached.smallest_effect) else None,
            claimed=claimed.effect,
        ),
    )
