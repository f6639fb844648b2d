"""What an A/A calibration says of the machine: its noise, the slice that suits it, and the effects it can tell."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class RefusalKind(str, Enum):
    """Why a study should not be run here as it is."""

    NO_TRIALS = "no_trials"
    TOO_SHORT = "too_short"
    TOO_FEW_EVENTS = "too_few_events"
    STARVED_CPU = "starved_cpu"
    ARMS_DIFFER = "arms_differ"
    BUDGET_TOO_SMALL = "budget_too_small"
    CANNOT_BE_RESOLVED = "cannot_be_resolved"


class NoTrialWorked(Record, tag_field="fact", tag="no_trial_worked"):
    """``failure`` are the words of the first trial that failed; None where no trial was run."""

    failure: str | None


class CpuTakenByOthers(Record, tag_field="fact", tag="cpu_taken_by_others"):
    """Other processes took most of the CPU while the trials ran."""


class TooLittleMeasured(Record, tag_field="fact", tag="too_little_measured"):
    """Too few seconds to show the noise."""

    measured_s: int
    trials: int


class TooFewTransactions(Record, tag_field="fact", tag="too_few_transactions"):
    """For seconds there was no transaction, or fewer than ``tps_min``."""

    tps_min: float


class EqualArmsDiffer(Record, tag_field="fact", tag="equal_arms_differ"):
    """With the same settings on both sides the second trial of ``pairs`` was faster by ``change``, a share."""

    change: float
    pairs: int


class BudgetTooSmall(Record, tag_field="fact", tag="budget_too_small"):
    """``budget_s`` does not hold ``blocks`` blocks of ``block_s`` seconds, the fewest that bound a ratio."""

    budget_s: float
    blocks: int
    block_s: float


class EffectTooSmall(Record, tag_field="fact", tag="effect_too_small"):
    """``blocks`` blocks in ``budget_s`` seconds detect an effect of ``smallest``; the largest claimed is ``claimed``.

    Effects are log ratios; ``smallest`` is None where no effect is detected, however large.
    """

    blocks: int
    budget_s: float
    smallest: float | None
    claimed: float


RefusalFacts = (
    NoTrialWorked
    | CpuTakenByOthers
    | TooLittleMeasured
    | TooFewTransactions
    | EqualArmsDiffer
    | BudgetTooSmall
    | EffectTooSmall
)


class Refusal(Record):
    """Why a study should not be run here as it is."""

    kind: RefusalKind
    facts: RefusalFacts


class SliceSeen(Record):
    """Slices of ``length_s`` seconds: the standard deviation of the log ratio of two neighbours, restarts included.

    ``cautious_deviation`` allows for the few ``pairs`` that it is known from. ``score`` is the variance times
    ``pair_s``, the seconds that a block of two arms takes; less is better.
    """

    length_s: int
    deviation: float
    cautious_deviation: float
    pairs: int
    pair_s: float
    score: float


class ClaimReach(Record):
    """Whether one claim can be decided here, ``blocks_likely`` after how many blocks; None if the budget ends before.

    ``effect`` is the published log ratio; 0 counts for a claim of no difference.
    """

    claim: str
    effect: float
    resolvable: bool
    blocks_likely: int | None


class Calibration(Record):
    """The outcome of a calibration. Deviations and effects are on the log scale, 0.1 is about 10 %.

    ``seconds`` were measured in ``trials`` trials of one arm. ``restart_deviation`` is what a restart alone changes;
    ``independent_share`` how much of a second is not a repetition of the one before. ``chosen`` is the length advised;
    ``longer_unknown`` says that it is the longest the calibration could show, so that a longer one may be better still.
    ``planned`` is what the study will use, the length advised unless its trials are of a given length.
    ``smallest_effect`` is the least whose direction shows in ``blocks`` blocks, what ``budget_s`` holds of these.
    ``position_ratio`` is how much faster the later of two identical trials was. ``window_s`` is how long an arm of an
    interleaved block best has the load, None where the trials were too short to show it.
    """

    trials: int
    seconds: int
    budget_s: float
    switch_s: float
    restart_deviation: float = 0.0
    independent_share: float | None = None
    slices: tuple[SliceSeen, ...] = ()
    chosen: SliceSeen | None = None
    longer_unknown: bool = False
    planned: SliceSeen | None = None
    blocks: int = 0
    smallest_effect: float | None = None
    position_ratio: float | None = None
    window_s: float | None = None
    claims: tuple[ClaimReach, ...] = ()
    refusal: Refusal | None = None
    format: int = 1
