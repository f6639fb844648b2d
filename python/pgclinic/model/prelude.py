"""What an A/A prelude says of the machine: its noise, the slice that suits it, and the effects it can tell."""

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


class Refusal(Record):
    """``advice`` is what could be changed so that the study can be run."""

    kind: RefusalKind
    text: str
    advice: str


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
    """Whether one claim can be told here. ``blocks_likely`` is at how many blocks, None where the budget ends before.

    ``effect`` is the published log ratio; 0 counts for a claim of no difference.
    """

    claim: str
    effect: float
    resolvable: bool
    blocks_likely: int | None


class Prelude(Record):
    """The outcome of a prelude. Deviations and effects are on the log scale, 0.1 is about 10 %.

    ``seconds`` were measured in ``trials`` trials of one arm. ``restart_deviation`` is what a restart alone changes;
    ``independent_share`` how much of a second is not a repetition of the one before. ``chosen`` is the length advised;
    ``longer_unknown`` says that it is the longest the prelude could show, so that a longer one may be better still.
    ``planned`` is what the study will use, the length advised unless its trials are of a given length.
    ``smallest_effect`` is the least whose direction is told in ``blocks`` blocks, what ``budget_s`` holds of these.
    ``position_ratio`` is how much faster the later of two identical trials was.
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
    claims: tuple[ClaimReach, ...] = ()
    refusal: Refusal | None = None
    format: int = 1
