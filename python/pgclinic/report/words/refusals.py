"""Why the A/A calibration advises against a run, and what to do about it; one function a fact."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

from pgclinic.model.calibration import (
    BudgetTooSmall,
    CpuTakenByOthers,
    EffectTooSmall,
    EqualArmsDiffer,
    NoTrialWorked,
    Refusal,
    TooFewTransactions,
    TooLittleMeasured,
)
from pgclinic.report.words.figures import count, percent, ratio, seconds, times


class RefusalWords(NamedTuple):
    text: str
    advice: str


def refusal_words(refusal: Refusal) -> RefusalWords:
    """The words of its facts."""
    return words_of(refusal.facts)


@singledispatch
def words_of(facts: object) -> RefusalWords:
    raise TypeError(f"there are no words for {type(facts).__name__}")


@words_of.register
def _no_trial_worked(facts: NoTrialWorked) -> RefusalWords:
    why = facts.failure or "none was run"
    return RefusalWords(f"no trial of the A/A calibration succeeded: {why}", "fix that first")


@words_of.register
def _cpu_taken(_: CpuTakenByOthers) -> RefusalWords:
    return RefusalWords(
        "other processes took most of the CPU during the A/A calibration",
        "stop what else runs on this machine, or wait until it has ended",
    )


@words_of.register
def _too_little(facts: TooLittleMeasured) -> RefusalWords:
    return RefusalWords(
        f"the A/A calibration measured {seconds(facts.measured_s)} in {count(facts.trials, 'trial')}, which is too "
        "little to show the noise",
        "give the A/A calibration six trials of 15 to 20 s",
    )


@words_of.register
def _too_few(facts: TooFewTransactions) -> RefusalWords:
    return RefusalWords(
        f"for seconds there was no transaction, or fewer than {facts.tps_min:g} per second: too few to show the noise",
        "use longer trials and compare counts, by their exact Poisson limits",
    )


@words_of.register
def _equal_arms_differ(facts: EqualArmsDiffer) -> RefusalWords:
    word = "faster" if facts.change > 0 else "slower"
    return RefusalWords(
        f"with the same settings on both sides, the second of two trials was {percent(abs(facts.change))} {word}: "
        f"more than chance explains in {count(facts.pairs, 'pair')}",
        "look for what one trial leaves behind for the next: a cold cache, heat, a disk that fills up",
    )


@words_of.register
def _budget(facts: BudgetTooSmall) -> RefusalWords:
    return RefusalWords(
        f"a budget of {_rounded(facts.budget_s)} does not hold {count(facts.blocks, 'block')}, the fewest that bound a "
        f"ratio; a block takes {_rounded(facts.block_s)}",
        f"give it {seconds(math.ceil(facts.blocks * facts.block_s))} or more",
    )


@words_of.register
def _effect(facts: EffectTooSmall) -> RefusalWords:
    run = f"{count(facts.blocks, 'block')} in {_rounded(facts.budget_s)}"
    if facts.smallest is None:
        detect = f"{run} detect no effect at all"
    else:
        least = math.exp(facts.smallest)
        detect = f"{run} detect a ratio of {ratio(1.0 / least)} or less, or of {ratio(least)} or more"
    return RefusalWords(
        f"cannot be resolved here: {detect}, and the largest effect claimed is {times(math.exp(facts.claimed))}",
        "use a larger budget, a quieter machine or longer trials to detect smaller effects",
    )


def _rounded(duration_s: float) -> str:
    return seconds(round(duration_s, 1))
