"""What the experiment says about the claims."""

from __future__ import annotations

import math
from enum import Enum

from pgclinic.model.doubt import Doubt
from pgclinic.model.load import SecondFailure
from pgclinic.model.reason import Reason
from pgclinic.model.record import Record
from pgclinic.model.transport import Transport
from pgclinic.model.verdict_word import VerdictWord


class InvalidReason(str, Enum):
    """Why there is no answer: others took the CPU, a counter did not change as the claimed cause demands, an arm never
    had a running server, the A/A calibration advised against the run, a twin is not alike enough to its original, or no
    block can be used."""

    STARVED_CPU = "starved_cpu"
    CAUSE_NOT_SHOWN = "cause_not_shown"
    NEVER_STARTED = "never_started"
    CALIBRATION_REFUSED = "calibration_refused"
    TWIN_UNLIKE = "twin_unlike"
    NO_BLOCK = "no_block"


class IntervalMethod(str, Enum):
    """``always_valid`` holds after every block: the boundary for the planned number of blocks, or a confidence sequence
    where none was planned; ``fixed_blocks`` is the t interval of a
    number of blocks that was fixed beforehand; ``counts`` is of few events, over all blocks together, exact for events
    of one rate and wider by what the rate varies from block to block."""

    ALWAYS_VALID = "always_valid"
    FIXED_BLOCKS = "fixed_blocks"
    COUNTS = "counts"


class Interval(Record):
    """A ratio with its 95 % interval; the bounds are None until there are enough blocks.

    ``blocks_planned`` is the most blocks for which looks were planned (stats/planned_sequence); None where none were
    planned, and for the other methods.
    """

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    method: IntervalMethod = IntervalMethod.ALWAYS_VALID
    blocks_planned: int | None = None


class BlockRatio(Record):
    """What one block measured in both arms, TPS over the claim's windows unless the claim names another measure.

    ``values`` are those of all levels of a sweep; ``ratio`` is then that of its ends on the line through them all.
    ``arm_later`` says whether the block ran the arm after the control.
    """

    block: int
    arm_value: float
    control_value: float
    ratio: float
    arm_later: bool
    values: tuple[float, ...] = ()


class MechanismSeen(Record):
    """A mechanism counter in both arms (means over blocks). ``moved`` says whether it differs as the claim needs.

    An arm's value is None where the counter could be read in none of its trials; then it has not moved. ``one_way`` is
    of a claimed decline: whether it also kept growing, or shrinking, all through every trial of the arm.
    """

    counter: str
    arm: float | None
    control: float | None
    ratio_min: float
    moved: bool
    about: str
    one_way: bool | None = None


class StepSeen(Record):
    """One step of a sweep: the ratio of a level to the one before it with its 95 % interval, of the claim's measure.

    ``shown`` is whether the whole interval lies on the claimed side of 1, ``opposed`` whether all of it lies beyond the
    equivalence margin on the other side.
    """

    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None
    shown: bool
    opposed: bool


class WindowSeen(Record):
    """One published window beside the measured one (mean over blocks); measured is None beyond the trial's end."""

    start_s: float
    end_s: float
    published_tps: float
    measured_tps: float | None


class PublishedSeen(Record):
    """One of a source's figures for the same thing; ``supported`` is whether it lies in the measured interval.

    ``nearest`` marks the one whose logarithm lies nearest to the measured ratio's.
    """

    ratio: float
    text: str
    supported: bool
    nearest: bool


class ArmSeen(Record):
    """What one arm did over all its trials that can be used, counted inside the measured windows only.

    ``commits`` over ``exposure_s`` gives ``tps``, with its 95 % limits: exact ones of a count where events are few,
    else from block to block. ``throughput`` is BenchBase's: all that began and ended inside the window, whatever its
    fate, a second. ``goodput`` is BenchBase's too: commits of warm-up and window over the window. ``running`` is how
    many transactions were still running at the end of a trial, on average, and ``oldest_s`` the age of the oldest.
    """

    arm: str
    trials: int
    exposure_s: float
    commits: int
    tps: float
    tps_low: float | None
    tps_high: float | None
    throughput: float
    goodput: float
    statements_per_s: float
    rolled_back: int
    failures: tuple[SecondFailure, ...]
    running: float
    oldest_s: float | None
    counters: dict[str, float]
    published_tps: float | None = None
    published_text: str | None = None
    refusal: str | None = None


class ClaimVerdict(Record):
    """``blocks_needed`` estimates how many more blocks would decide it, where it is inconclusive.

    ``region`` is the claimed one; its end is None where it has no upper limit, its beginning 0 where it has no lower.
    ``direction`` is -1 where the arm is claimed to be lower, 1 where higher, 0 where neither; ``published_ratio`` is
    None where the source prints none, and ``expected`` says that the claim is an expectation of the study. ``steps``
    are those of a sweep that claims every step from one level to the next.

    ``reasons`` are the steps of the reasoning, in order. ``upheld_together`` is whether it
    is upheld among all claims of the study at a false discovery rate of 5 % (e-BH on the claim's own region, or on its
    direction where that is all that is replicated); None where it is the only one. ``invalid_because`` is set where the
    word is *invalid*, and in no other verdict. ``transport`` is what blocks on a twin say of its original.
    """

    claim: str
    word: VerdictWord
    interval: Interval | None
    region: tuple[float, float | None]
    null_zone: tuple[float, float]
    blocks: tuple[BlockRatio, ...]
    mechanisms: tuple[MechanismSeen, ...]
    windows: tuple[WindowSeen, ...]
    reasons: tuple[Reason, ...]
    qualifier: str | None = None
    blocks_needed: int | None = None
    published_others: tuple[PublishedSeen, ...] = ()
    upheld_together: bool | None = None
    invalid_because: InvalidReason | None = None
    published_ratio: float | None = None
    direction: int = 0
    expected: bool = False
    steps: tuple[StepSeen, ...] = ()
    transport: Transport | None = None

    @property
    def region_edges(self) -> tuple[float, float]:
        """Both ends of the claimed region; without an upper limit it ends at infinity."""
        low, high = self.region
        return low, math.inf if high is None else high


class Verdict(Record):
    """A study's verdict: one per claim, and the headline, which is the first claim's.

    ``arms`` are in the study file's order; one that never had a running server has ``refusal``, its words.
    """

    study: str
    claims: tuple[ClaimVerdict, ...]
    doubts: tuple[Doubt, ...]
    trials_done: int
    trials_failed: int
    server_version: str | None
    arms: tuple[ArmSeen, ...] = ()
    format: int = 1

    @property
    def headline(self) -> ClaimVerdict:
        return self.claims[0]
