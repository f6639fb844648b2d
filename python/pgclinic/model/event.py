"""What happens while an experiment runs, one line of events.jsonl each: what the terminal, a page and a remote fleet
follow."""

from __future__ import annotations

from pgclinic.model.finding import Proof
from pgclinic.model.progress import Progress
from pgclinic.model.record import Record
from pgclinic.model.run import Second


class StageReached(Record, tag="stage", tag_field="event"):
    """A trial begins to do something else: starting, filling, warming up, measuring, probing.

    ``progress`` is where the run stands then, without its seconds; None where nobody counts blocks.
    """

    trial: int
    block: int
    arm: str
    stage: str
    at_epoch_us: int
    progress: Progress | None = None


class SecondMeasured(Record, tag="second", tag_field="event"):
    """One second of a trial, as it happened."""

    second: Second


class TrialEnded(Record, tag="trial", tag_field="event"):
    """A trial is complete and stored. ``tps`` is None where it failed, and ``failure`` says why."""

    trial: int
    block: int
    arm: str
    at_epoch_us: int
    tps: float | None = None
    failure: str | None = None
    host: str | None = None


class BlockRepeated(Record, tag="repeated", tag_field="event"):
    """The host of a block was lost: what it had measured of the block does not count, and the block runs elsewhere."""

    block: int
    host: str | None
    reason: str
    at_epoch_us: int


class ClaimJudged(Record):
    """A claim's word so far with its interval; the bounds are None while they are infinite."""

    claim: str
    word: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


class VerdictReached(Record, tag="verdict", tag_field="event"):
    """What the trials say after a block."""

    block: int
    claims: tuple[ClaimJudged, ...]
    at_epoch_us: int


class ProofReached(Record, tag="proof", tag_field="event"):
    """A proof of a checkup's finding is there: by plans first, again when blocks of trials have run."""

    finding: str
    proof: Proof
    at_epoch_us: int


Event = StageReached | SecondMeasured | TrialEnded | BlockRepeated | VerdictReached | ProofReached
