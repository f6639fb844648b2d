"""Assay: which of the settings that differ carry the difference, and the smallest set of them that keeps it."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

from pgclinic.model.trial import TrialRecord
from pgclinic.model.tuning import (
    Assay,
    AssaySoFar,
    AssayWord,
    Effect,
    Interaction,
    SettingEffect,
    SettingSoFar,
    Suspected,
    WaterfallStep,
)
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean
from pgclinic.tune.ask import Ask, Strategy
from pgclinic.tune.attribute import TOGETHER, Attribution, alone_name, smallest_set, without_name
from pgclinic.tune.difference import BASE, CHANGED, Difference
from pgclinic.tune.ledger import BLOCKS_MIN, Block, Ledger, interval_of, log_ratios
from pgclinic.tune.rate import counted_by, reason_of

#: The smallest set keeps this part of the logarithm of the effect.
KEEPS = 0.95
_OPENING = 3
#: More than the usual number only where they leave it open.
_BLOCKS_USUAL, _BLOCKS_MAX = 8, 25
_CONFIRM_SHARE = 0.25
SMALLEST = "smallest"
#: Kept free for the smallest set and its blocks: so many trials, and no more than this share of the budget.
_RESERVED_TRIALS, _RESERVED_SHARE = 15, 0.4
#: For two orders of two settings: the least that names one.
_WALK_TRIALS = 6
OTHERS = "all others"


def assay(difference: Difference, ledger: Ledger, *, seed: int) -> Strategy[Assay]:
    """Measure the whole, each part of it, the smallest set; then all three against each other in fresh blocks."""
    opening: list[Block] = [(yield from _ends(difference, ledger))]
    while len(opening) < _OPENING and ledger.has_room_for(2):
        opening.append((yield from _ends(difference, ledger)))
    if not log_ratios(opening, CHANGED, BASE):
        return _refused(opening, ledger)
    ledger.count(counted_by(record for block in opening for record in block.records.values()))
    attribution = Attribution(difference, ledger, seed=seed, reserve_s=_reserve_s(difference, ledger))
    yield from attribution.screen()
    survivors = attribution.survivors
    yield from attribution.find_missing(survivors)
    yield from attribution.walk(survivors)
    interactions = yield from attribution.pairs(attribution.named(survivors))
    whole = mean(log_ratios(ledger.blocks, CHANGED, BASE))
    effects = attribution.effects(survivors, whole)
    ranked = [effect.setting for effect in effects if (effect.factor > 1) == (whole > 0)]
    smallest: tuple[str, ...] = ()
    if ranked:
        smallest = yield from smallest_set(
            difference, ledger, ranked, keeps=KEEPS, reserve_s=3 * BLOCKS_MIN * ledger.trial_s(_confirm_s(ledger))
        )
    confirmed = yield from _confirmed(difference, ledger, opening, smallest)
    return _answer(attribution, survivors, effects, interactions, smallest, (*opening, *confirmed))


def assay_so_far(difference: Difference, ledger: Ledger) -> AssaySoFar:
    """What the blocks say before the assay ends: of each setting alone or last, whichever is stronger."""
    whole = log_ratios(ledger.blocks, CHANGED, BASE)
    settings = []
    for name in difference.names:
        alone = log_ratios(ledger.blocks, alone_name(name), BASE)
        last = [-log for log in log_ratios(ledger.blocks, without_name(name), CHANGED)]
        means = [mean(logs) for logs in (alone, last) if logs]
        if means:
            settings.append(SettingSoFar(setting=name, factor=math.exp(max(means, key=abs))))
    return AssaySoFar(
        whole=_effect(mean(whole), *_limits(whole)) if whole else None,
        settings=tuple(sorted(settings, key=lambda one: -abs(math.log(one.factor)))),
    )


def _reserve_s(difference: Difference, ledger: Ledger) -> float:
    """For the smallest set and the last blocks. Single settings come first: where there is little time, all of it."""
    trial_s, settings = ledger.trial_s(_confirm_s(ledger)), len(difference.names)
    wanted = 3 * (BLOCKS_MIN - _OPENING) + min(_RESERVED_TRIALS, 3 * settings)
    screens = 2 * (settings + math.ceil(settings / TOGETHER)) + _WALK_TRIALS
    left_s = max(0.0, ledger.left_s - screens * ledger.trial_s())
    return min(wanted * trial_s, _RESERVED_SHARE * ledger.limits.budget_s, left_s)


def _ends(difference: Difference, ledger: Ledger) -> Generator[Ask, tuple[TrialRecord, ...], Block]:
    arms = {BASE: dict(difference.base), CHANGED: difference.complete}
    return ledger.block(arms, measure_s=_confirm_s(ledger))


def _confirmed(
    difference: Difference, ledger: Ledger, opening: Sequence[Block], smallest: Sequence[str]
) -> Generator[Ask, tuple[TrialRecord, ...], list[Block]]:
    """Fresh blocks: what was chosen for being large is not judged by what it was chosen for. The whole was not chosen,
    so the opening counts for it."""
    arms = {BASE: dict(difference.base), CHANGED: difference.complete}
    if smallest and len(smallest) < len(difference.names):
        arms[SMALLEST] = difference.settings(smallest)
    blocks: list[Block] = []
    measure_s = _confirm_s(ledger)
    while len(blocks) < _BLOCKS_MAX and ledger.has_room_for(len(arms), measure_s=measure_s):
        blocks.append((yield from ledger.block(arms, measure_s=measure_s)))
        if len(blocks) >= _BLOCKS_USUAL and _word((*opening, *blocks)) is not AssayWord.INCONCLUSIVE:
            break
    return blocks


def _confirm_s(ledger: Ledger) -> float:
    return ledger.affordable_s(ledger.measure_s_of(CHANGED), share=_CONFIRM_SHARE, trials=3 * BLOCKS_MIN)


def _word(blocks: Sequence[Block]) -> AssayWord:
    return word_of(*_limits(log_ratios(blocks, CHANGED, BASE)))


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Of their mean. So few blocks end by the budget and not by what they gave, so Student's t is valid for them."""
    if 1 < len(values) < _BLOCKS_USUAL:
        return t_interval(values)
    _, low, high = interval_of(values)
    return low, high


def _answer(
    attribution: Attribution,
    survivors: Sequence[str],
    effects: Sequence[SettingEffect],
    interactions: tuple[Interaction, ...],
    smallest: tuple[str, ...],
    blocks: Sequence[Block],
) -> Assay:
    ledger, difference = attribution.ledger, attribution.difference
    values = log_ratios(blocks, CHANGED, BASE)
    centre = mean(values) if values else 0.0
    of_smallest = log_ratios(blocks, SMALLEST, BASE) or (values if smallest else [])
    carriers = tuple(_with_share(effect, centre) for effect in effects)
    suspected = _suspected(attribution, survivors)
    known = {carrier.setting for carrier in carriers} | {suspect.setting for suspect in suspected}
    base_rate = _rate(blocks, BASE)
    seen = attribution.seen
    untested = [name for name in difference.names if name not in seen.alone or name not in seen.last]
    return Assay(
        word=_word(blocks) if values else AssayWord.INCONCLUSIVE,
        counted=ledger.counted,
        base_per_s=base_rate,
        changed_per_s=_rate(blocks, CHANGED),
        whole=_effect(centre, *_limits(values)) if values else None,
        carriers=carriers,
        bystanders=tuple(name for name in difference.names if name in seen.screened - known),
        suspected=suspected,
        untried=tuple(name for name in difference.names if name not in seen.screened | known),
        interactions=interactions,
        smallest=smallest,
        smallest_effect=_effect(mean(of_smallest), *_limits(of_smallest)) if smallest and of_smallest else None,
        keeps=mean(of_smallest) / centre if smallest and of_smallest and centre else None,
        waterfall=waterfall(carriers, base_rate, centre),
        unexplained=1.0 - math.fsum(one.share for one in carriers) if abs(centre) > NULL_EFFECT else None,
        resolution=math.exp(attribution.resolution),
        blocks=len(values),
        trials=ledger.trials,
        spent_s=ledger.spent_s,
        is_complete=not set(untested) - seen.failed,
    )


def _suspected(attribution: Attribution, survivors: Sequence[str]) -> tuple[Suspected, ...]:
    seen, difference = attribution.seen, attribution.difference
    candidates = (*survivors, *(name for name in difference.names if name in seen.failed and name not in survivors))
    return tuple(
        Suspected(
            setting=name,
            value=difference.changed[name] or "default",
            reason=reason,
            factor=math.exp(seen.strongest(name)) if name in seen.screened else None,
        )
        for name in candidates
        if (reason := attribution.suspicion(name)) is not None
    )


def _with_share(one: SettingEffect, whole: float) -> SettingEffect:
    share = math.log(one.factor) / whole if abs(whole) > NULL_EFFECT else 0.0
    return SettingEffect(
        setting=one.setting,
        value=one.value,
        base_value=one.base_value,
        factor=one.factor,
        interval=one.interval,
        share=share,
        alone=one.alone,
        last=one.last,
    )


def word_of(low: float, high: float) -> AssayWord:
    """From the limits of the logarithm of the whole effect; *faster* and *slower* lie beyond compare's margin."""
    if low > NULL_EFFECT:
        return AssayWord.FASTER
    if high < -NULL_EFFECT:
        return AssayWord.SLOWER
    return AssayWord.NO_DIFFERENCE if low >= -NULL_EFFECT and high <= NULL_EFFECT else AssayWord.INCONCLUSIVE


def effect_of(values: Sequence[float], alpha: float = 0.05) -> Effect:
    """The mean ratio of blocks with its confidence sequence."""
    return _effect(*interval_of(values, alpha))


def _effect(centre: float, low: float, high: float) -> Effect:
    return Effect(
        ratio=math.exp(centre),
        low=math.exp(low) if math.isfinite(low) else None,
        high=math.exp(high) if math.isfinite(high) else None,
    )


def waterfall(carriers: Sequence[SettingEffect], base_rate: float, whole: float) -> tuple[WaterfallStep, ...]:
    """From the base to the complete configuration, one step a carrier, the last one for what no carrier explains."""
    steps, rate = [], base_rate
    for carrier in carriers:
        steps.append(WaterfallStep(setting=carrier.setting, before=rate, after=rate * carrier.factor))
        rate *= carrier.factor
    complete = base_rate * math.exp(whole)
    if steps and rate > 0 and complete > 0 and abs(math.log(complete / rate)) > NULL_EFFECT:
        steps.append(WaterfallStep(setting=OTHERS, before=rate, after=complete))
    return tuple(steps)


def _rate(blocks: Sequence[Block], name: str) -> float:
    logs = [block.rates[name].log for block in blocks if name in block.rates and block.is_measured(name)]
    return math.exp(mean(logs)) if logs else 0.0


def _refused(opening: Sequence[Block], ledger: Ledger) -> Assay:
    """One of the two ends gave no measurement."""
    end = next((name for name in (BASE, CHANGED) if not any(block.is_measured(name) for block in opening)), CHANGED)
    record = opening[-1].records[end]
    return Assay(
        word=AssayWord.REFUSED,
        base_per_s=_rate(opening, BASE),
        changed_per_s=_rate(opening, CHANGED),
        whole=None,
        trials=ledger.trials,
        spent_s=ledger.spent_s,
        refusal=f"{end}: {reason_of(record)}",
    )
