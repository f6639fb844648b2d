"""What the experiment says about the claims."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record
from pgclinic.model.study import Counter
from pgclinic.model.trial import Doubt


class VerdictWord(str, Enum):
    REPLICATED = "replicated"
    REPLICATED_IN_DIRECTION = "replicated in direction"
    NO_EFFECT = "no effect"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


class Interval(Record):
    """A ratio with its 95 % interval; the bounds are None while too few blocks leave it unbounded."""

    ratio: float
    low: float | None
    high: float | None
    blocks: int


class BlockRatio(Record):
    """One block's TPS of both arms over the claim's windows."""

    block: int
    arm_tps: float
    control_tps: float

    @property
    def ratio(self) -> float:
        return self.arm_tps / self.control_tps


class MechanismSeen(Record):
    """A mechanism counter in both arms (means over blocks). ``moved`` says whether it differs as the claim needs.

    An arm's value is None where the counter could be read in none of its trials; then it has not moved.
    """

    counter: Counter
    arm: float | None
    control: float | None
    ratio_min: float
    moved: bool
    about: str


class WindowSeen(Record):
    """One published window beside the measured one (mean over blocks); measured is None beyond the trial's end."""

    start_s: float
    end_s: float
    published_tps: float
    measured_tps: float | None


class ClaimVerdict(Record):
    """``blocks_needed`` estimates how many more blocks would decide it, where it is inconclusive.

    ``how`` is the reasoning in words, one step an entry, as the report prints it.
    """

    claim: str
    word: VerdictWord
    interval: Interval | None
    region: tuple[float, float]
    null_zone: tuple[float, float]
    published_ratio: float
    blocks: tuple[BlockRatio, ...]
    mechanisms: tuple[MechanismSeen, ...]
    windows: tuple[WindowSeen, ...]
    how: tuple[str, ...]
    qualifier: str | None = None
    blocks_needed: int | None = None


class Verdict(Record):
    """A study's verdict: one per claim, and the headline, which is the first claim's."""

    study: str
    claims: tuple[ClaimVerdict, ...]
    doubts: tuple[Doubt, ...]
    trials_done: int
    trials_failed: int
    server_version: str | None
    format: int = 1

    @property
    def headline(self) -> ClaimVerdict:
        return self.claims[0]
