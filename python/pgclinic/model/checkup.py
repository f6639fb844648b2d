"""A checkup: what was found on a server, ranked, and how much of its time that explains."""

from __future__ import annotations

from pgclinic.model.fidelity import Fidelity
from pgclinic.model.finding import Cure, Finding, Health, ShareBasis
from pgclinic.model.record import Record
from pgclinic.model.twin import Gap


class Unchecked(Record):
    """A pathology that could not be looked for, and why: a part of the snapshot that is missing, or a failure.

    ``since`` and ``until`` are the first and the last major version that has it, or what it is found by, where the
    server is not of those.
    """

    pathology: str
    reason: str
    since: int | None = None
    until: int | None = None


class ShareOf(Record):
    """Part of the time of active sessions, 0 to 1, in a wait (TYPE:EVENT), or in a statement with its text."""

    name: str
    share: float
    query_id: int | None = None


class SettingDiffers(Record):
    """A setting that has not its default."""

    name: str
    value: str
    default: str


class Unexplained(Record):
    """What no finding accounts for, ``share`` of the time: where it goes, the largest first.

    The time is that of active sessions, or by ``share_by`` of all statements. ``waits`` has CPU for sessions that wait
    for nothing. ``settings`` are those that can change how fast a server is, differ from their defaults, and were read
    by no detector.
    """

    share: float
    share_by: ShareBasis = ShareBasis.SAMPLES
    waits: tuple[ShareOf, ...] = ()
    statements: tuple[ShareOf, ...] = ()
    settings: tuple[SettingDiffers, ...] = ()


class Checkup(Record):
    """``explained_share`` of ``active_sessions`` (their number on average) is accounted for by the findings; where few
    of those were seen, by ``explained_share_by`` of the time of all statements.

    Findings are in the order in which they are shown: causes by severity, then by the time they account for; what
    others explain comes after them. ``pathologies`` is how many were looked for. ``fidelity`` is how alike the twin is
    that proofs were made on. ``cure`` is the set of all treatments that cured, ``not_reached`` the keys of the findings
    whose proof by blocks the budget (``budget_s``) left no time for. ``unexplained`` is None where no session was seen
    working, or next to nothing is left.
    """

    pgclinic: str
    health: Health
    server: str
    version: str
    database: str
    taken_epoch_s: float
    took_s: float
    observed_s: float
    statements: int
    pathologies: int
    findings: tuple[Finding, ...]
    active_sessions: float | None = None
    explained_share: float | None = None
    explained_share_by: ShareBasis = ShareBasis.SAMPLES
    gaps: tuple[Gap, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    fidelity: Fidelity | None = None
    cure: Cure | None = None
    budget_s: float | None = None
    not_reached: tuple[str, ...] = ()
    unexplained: Unexplained | None = None
    format: int = 1

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The findings that no other one explains."""
        return tuple(finding for finding in self.findings if not finding.explained_by)


class Change(Record):
    """One finding of two checkups; None where it was not found."""

    key: str
    before: Finding | None
    after: Finding | None


class Changes(Record):
    """What became of the findings of an earlier checkup.

    ``unknown`` were found before, and their pathology could not be looked for now. ``same`` is how many neither got
    better nor worse.
    """

    since_epoch_s: float
    health_before: Health
    new: tuple[Change, ...] = ()
    worse: tuple[Change, ...] = ()
    better: tuple[Change, ...] = ()
    gone: tuple[Change, ...] = ()
    unknown: tuple[Change, ...] = ()
    same: int = 0
