"""The steps from the trials to a word, one record each, with the numbers that they rest on and without words.

``judge/reasons.py`` makes them, ``report/words/reasons.py`` words them, one function a record. Nobody reads a step by
its place: what a step says is its type.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.calibration import Refusal
from pgclinic.model.doubt import Doubt
from pgclinic.model.record import Record
from pgclinic.model.verdict_word import CompareWord, VerdictWord


class NoBlockRan(Record, tag_field="reason", tag="no_block_ran"):
    """There is not a single block."""


class BlocksUsed(Record, tag_field="reason", tag="blocks_used"):
    """How many of the blocks that ran can be used; ``arms`` are those that each has a trial of, each arm once."""

    used: int
    total: int
    arms: tuple[str, ...]


class Lack(str, Enum):
    """Why a block cannot be used. Of ``NO_RATIO`` the value is the lowest measured in the block."""

    DID_NOT_RUN = "did_not_run"
    FAILED = "failed"
    PRUNED = "pruned"
    INTERRUPTED = "interrupted"
    CLIENTS_LOST = "clients_lost"
    TOO_SHORT = "too_short"
    NO_COUNTER = "no_counter"
    NOT_POSITIVE = "not_positive"
    NO_SLOPE = "no_slope"
    NO_COMMON_SLOPE = "no_common_slope"
    NO_TRANSACTION = "no_transaction"
    NO_RATIO = "no_ratio"


class Unfit(Record):
    """What a trial, or a whole block, lacks. ``value`` is in seconds where it is a length, else of ``measure``.

    ``failure`` are the words of a trial that failed.
    """

    lack: Lack
    arm: str | None = None
    trial: int | None = None
    measure: str | None = None
    value: float | None = None
    failure: str | None = None


class BlockLeftOut(Record, tag_field="reason", tag="block_left_out"):
    block: int
    unfit: Unfit


class CommitsTogether(Record):
    """Commits of both arms in all blocks together, and the seconds that these took."""

    arm: int
    arm_s: float
    control: int
    control_s: float


class Compared(Record, tag_field="reason", tag="compared"):
    """What of a trial was compared, and the ratio of each block.

    ``tail_s`` is the whole seconds at the end that count, None where all of the trial does; ``levels`` the number of
    levels of a sweep, 0 where there is none; ``reference`` the value in place of the control's. ``ratio`` is that of
    all blocks, ``spread`` the standard deviation of their logarithms, None for a single block. ``together`` is set
    where counts are compared.
    """

    measure: str
    control: str
    arm: str
    ratios: tuple[float, ...]
    ratio: float
    tail_s: int | None = None
    levels: int = 0
    reference: float | None = None
    spread: float | None = None
    together: CommitsTogether | None = None


class FewTransactions(Record, tag_field="reason", tag="few_transactions"):
    """Blocks with a trial of fewer than ``few`` transactions, the ``fewest``; none at all counts as ``when_none``."""

    blocks: int
    fewest: int
    few: int
    when_none: int


class Unbounded(Record, tag_field="reason", tag="unbounded"):
    """Too few blocks for an interval, which has ends from block ``bounded_from`` on."""

    blocks: int
    bounded_from: int


class CountsInterval(Record, tag_field="reason", tag="counts_interval"):
    """Limits of counts, as an arm had fewer than ``few`` events in all blocks together."""

    low: float
    high: float
    few: int


class FixedBlocksInterval(Record, tag_field="reason", tag="fixed_blocks_interval"):
    """Student's interval of a number of blocks that was fixed beforehand."""

    low: float
    high: float
    blocks: int


class SequenceInterval(Record, tag_field="reason", tag="sequence_interval"):
    """The confidence sequence after ``blocks`` blocks."""

    low: float
    high: float
    blocks: int


class Trend(Record, tag_field="reason", tag="trend"):
    """Page's L over the levels of a sweep, and what it is expected to be by chance.

    One of ``p_value``, for a number of blocks that was fixed beforehand, and ``e_value`` is set.
    """

    rising: bool
    levels: int
    blocks: int
    statistic: float
    expected: float
    p_value: float | None = None
    e_value: float | None = None


class SweepStep(Record, tag_field="reason", tag="sweep_step"):
    """The ratio of one level to the one before it; the bounds are None until there are enough blocks."""

    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None
    shown: bool
    opposed: bool


class Knee(Record, tag_field="reason", tag="knee"):
    """The level at which the mean curve bends most, which is not tested."""

    level: float


class RegionSource(str, Enum):
    """Where the claimed region comes from: the study names it; all beyond the equivalence margin; the margin itself, as
    no direction is claimed or as no difference is; from half the published effect on; half to twice that effect."""

    STUDY = "study"
    BEYOND_MARGIN = "beyond_margin"
    MARGIN = "margin"
    NO_DIFFERENCE = "no_difference"
    BOUND = "bound"
    EFFECT = "effect"


class ClaimedRegion(Record, tag_field="reason", tag="claimed_region"):
    """What is claimed and which ratios it holds for: from ``low`` (0 without a limit) to ``high`` (None without).

    ``text`` is the source's, ``expected_because`` the reason of an expectation; neither is set for an open question.
    ``region_reason`` is the study's. ``reference`` is the value of ``measure`` that the arm is held against.
    """

    low: float
    high: float | None
    margin: tuple[float, float]
    source: RegionSource
    measure: str
    region_reason: str | None = None
    published_ratio: float | None = None
    text: str | None = None
    expected_because: str | None = None
    reference: float | None = None


class CounterCompared(Record, tag_field="reason", tag="counter_compared"):
    """A counter of the claimed cause in both arms (means over blocks), None where it could not be read.

    ``ratio_min`` is what the claim needs, at most that where it is below 1; ``one_way`` is as in ``MechanismSeen``.
    """

    counter: str
    about: str
    arm: str
    arm_value: float | None
    control: str
    control_value: float | None
    ratio_min: float
    moved: bool
    one_way: bool | None = None


class BeyondCache(Record):
    """After an hour the versions take ``versions_bytes``, more than ``cache_bytes``; TPS are then rather ``tps``."""

    versions_bytes: float
    cache_bytes: float
    tps: float


class HalvingForecast(Record, tag_field="reason", tag="halving_forecast"):
    """How TPS fall under a held horizon: hits of an update = ``hits_at_zero`` + ``hits_per_version`` a version.

    ``tps_hour_cheap`` and ``tps_hour_dear`` are TPS after an hour at the price that a hit had in the cheapest and in
    the dearest tenth of the time.
    """

    arm: str
    hits_at_zero: float
    hits_per_version: float
    r_squared: float
    tps_at_start: float
    halved_after_s: float
    tps_hour: float
    tps_hour_cheap: float
    tps_hour_dear: float
    beyond_cache: BeyondCache | None = None


class CalibrationFailed(Record, tag_field="reason", tag="calibration_failed"):
    """Equal arms differed in the A/A calibration: the doubt that says so."""

    doubt: Doubt


class CalibrationAdvisedAgainst(Record, tag_field="reason", tag="calibration_advised_against"):
    """The A/A calibration advised against the run."""

    refusal: Refusal


class StarvedTrials(Record, tag_field="reason", tag="starved_trials"):
    """In ``starved`` of ``used`` trials others took ``share`` or more of the CPU that the trial was ready to use."""

    starved: int
    used: int
    share: float


class NeverStarted(Record, tag_field="reason", tag="never_started"):
    """``failure`` are the words of the first trial whose server did not start."""

    arm: str
    failure: str


class TwinUnlike(Record, tag_field="reason", tag="twin_unlike"):
    """The twin is not alike enough to its original: ``outside`` of ``statements`` are out of tolerance or do not run.

    They have ``outside_time_share`` of the original's time. Without ``judges_throughput`` its transactions could not be
    grouped within tolerance. ``outside_change_share`` is theirs of the time by which statements clearly differ between
    the arms, set where the answer would rest on them.
    """

    judges_throughput: bool
    outside: int
    statements: int
    outside_time_share: float
    outside_change_share: float | None = None


class Transported(Record, tag_field="reason", tag="transported"):
    """How the server time of the original's workload changes, by the statements of its twin.

    ``ratio`` is b / a, ``low`` and ``high`` its bounds, None while they are open. ``statements`` have ratios of their
    own, with ``measured_share`` of the original's time; ``outside`` others with ``outside_share`` of it are taken for
    anything from 0 to 10 times as long. ``rough`` ones with ``rough_share`` have a ratio, and other rows or buffers.
    """

    ratio: float
    low: float | None
    high: float | None
    measured_share: float
    outside: int
    outside_share: float
    by_server: bool
    rough: int = 0
    rough_share: float = 0.0


class SignOpen(Record, tag_field="reason", tag="sign_open"):
    """What the twin does not reproduce, or only roughly, could turn the sign: ``outside`` statements with
    ``outside_share`` of the original's time leave its server time between ``low`` and ``high`` times what it is."""

    outside: int
    outside_share: float
    low: float
    high: float


class NoUsableBlock(Record, tag_field="reason", tag="no_usable_block"):
    """Blocks ran, and none can be used."""


class FalseDiscovery(Record, tag_field="reason", tag="false_discovery"):
    """How the claim stands among all ``claims`` of the study (e-BH at the rate ``alpha``).

    ``of_direction`` is whether its evidence is for its direction; else it is for its region.
    """

    claims: int
    alpha: float
    e_value: float
    upheld: bool
    of_direction: bool


class BlocksRaised(Record, tag_field="reason", tag="blocks_raised"):
    """The number of blocks was fixed beforehand and raised when results were known."""

    fixed_at: int


class NoDifference(Record, tag_field="reason", tag="no_difference"):
    """The equivalence margin of a comparison, as ratios."""

    margin: tuple[float, float]


class Conclusion(Record, tag_field="reason", tag="conclusion"):
    """Why a claim has its word. ``bounded``: the interval has ends; ``moved``: all counters changed as claimed;
    ``by_order``: it is a sweep with a direction, for which the order of the levels decides as well."""

    word: VerdictWord
    qualifier: str | None
    blocks_needed: int | None
    bounded: bool
    moved: bool
    by_order: bool


class Answer(Record, tag_field="reason", tag="answer"):
    """Why a comparison has its word. ``direction`` is 1 where the interval leaves out all of b being slower, -1 where
    all of it being faster, 0 where neither; ``margin_share`` is the difference that *no difference* rules out."""

    word: CompareWord
    bounded: bool
    direction: int
    margin_share: float
    blocks_needed: int | None


#: A step that says why there is no answer.
Refusing = (
    CalibrationFailed | CalibrationAdvisedAgainst | StarvedTrials | NeverStarted | TwinUnlike | SignOpen | NoUsableBlock
)

Reason = (
    NoBlockRan
    | BlocksUsed
    | BlockLeftOut
    | Compared
    | FewTransactions
    | Unbounded
    | CountsInterval
    | FixedBlocksInterval
    | SequenceInterval
    | Trend
    | SweepStep
    | Knee
    | ClaimedRegion
    | CounterCompared
    | HalvingForecast
    | CalibrationFailed
    | CalibrationAdvisedAgainst
    | StarvedTrials
    | NeverStarted
    | TwinUnlike
    | Transported
    | SignOpen
    | NoUsableBlock
    | FalseDiscovery
    | BlocksRaised
    | NoDifference
    | Conclusion
    | Answer
)
