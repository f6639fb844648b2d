"""What ``--json`` prints: one object that names the run's folder and its report beside the answer."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.advise import IndexAdvice
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.doctor import CheckName, CheckState, DoctorReadings, VerdictCost
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.machine import Machine
from pgclinic.model.record import Record
from pgclinic.model.run import RunKind, Tool
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import Verdict


class StudyOutput(Record):
    """``study run --json`` and ``study judge --json``; ``run`` and ``report`` are paths as the user would type them.

    ``report`` is null where it could not be written.
    """

    run: str
    report: str | None
    verdict: Verdict


class CompareOutput(Record):
    """``compare --json``, and ``study judge --json`` for the run of a comparison; ``report`` as above."""

    run: str
    report: str | None
    comparison: Comparison


class CheckupOutput(Record):
    """``checkup --json``; ``run`` and ``report`` are null where nothing is kept, ``changes`` without ``--since``."""

    run: str | None
    report: str | None
    checkup: Checkup
    changes: Changes | None = None


class AdviceOutput(Record):
    """``advise --json``; ``run`` is the path of its folder."""

    run: str
    advice: IndexAdvice


class RunState(str, Enum):
    """``unfinished``: the command ended before its answer was there. ``damaged``: a file of it cannot be read."""

    RUNNING = "running"
    FINISHED = "finished"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


class RunOutput(Record):
    """One run of ``runs list --json`` and ``runs show --json``.

    ``path`` is as the user would type it, ``name`` that of the study, database or scripts. ``answer`` is the word of
    the answer, ``sentence`` what the command said with it; both are null without one. ``report`` is the path of
    its page, ``settings`` are those that every server of the run was given. ``problem`` says why a damaged run cannot
    be read; it has neither kind nor machine.
    """

    path: str
    state: RunState
    size_bytes: int
    kind: RunKind | None = None
    name: str | None = None
    answer: str | None = None
    sentence: str | None = None
    report: str | None = None
    server: str | None = None
    machine: Machine | None = None
    tool: Tool | None = None
    command: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    started_epoch_us: int | None = None
    problem: str | None = None


class FactPair(Record):
    """A fact of two runs, in words."""

    label: str
    a: str
    b: str


class FigurePair(Record):
    """What two runs have measured, in words; ``remark`` is what can be said of both together."""

    label: str
    a: str
    b: str
    remark: str = ""


class FindingChanged(Record):
    """What became of a finding from checkup a to checkup b: new, worse, better, gone, unknown."""

    change: str
    finding: str


class SideBySideOutput(Record):
    """``report RUN1 RUN2 -o FILE.json``: ``same`` are the labels of facts that do not differ, ``note`` what the figures
    do not say."""

    a: RunOutput
    b: RunOutput
    differs: tuple[FactPair, ...]
    same: tuple[str, ...]
    figures: tuple[FigurePair, ...]
    findings: tuple[FindingChanged, ...]
    note: str


class AssayOutput(Assay, kw_only=True):
    """``assay --json``: the assay with its run and its report, as above."""

    run: str
    report: str | None


class SearchOutput(Search, kw_only=True):
    """``search --json``: the search with its run and its report."""

    run: str
    report: str | None


class BisectOutput(Bisect, kw_only=True):
    """``bisect --json``: the bisection with its run and its report."""

    run: str
    report: str | None


class UpgradeOutput(Record):
    """``upgrade --json``; ``report`` as above."""

    run: str
    report: str | None
    upgrade: Upgrade


class GrowOutput(Record):
    """``grow --json``: the growth with its run and its report."""

    run: str
    report: str | None
    growth: GrowthForecast


class DoctorCheck(Record):
    """One reading of ``doctor``, judged. ``command`` improves it, ``cost`` is what it costs the verdict now.

    Both are null where it is fine.
    """

    name: CheckName
    state: CheckState
    found: str
    command: str | None = None
    cost: VerdictCost | None = None


class DoctorOutput(Record):
    """``doctor --json``: ``checks`` in their order on the terminal, ``readings`` all figures that they rest on."""

    answer: str
    can_run: bool
    checks: tuple[DoctorCheck, ...]
    readings: DoctorReadings
