"""What the report of each kind of run is made from: the records that its sections read. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.advise import IndexAdvice
from pgclinic.model.bench import BenchResult
from pgclinic.model.calibration import Calibration
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, Second
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import Verdict


@dataclass(frozen=True)
class ReportedStudy:
    """``folder`` is how the user would name the run folder. With a ``comparison`` the verdict is shown in its words."""

    run: RunInfo
    study: Study
    trials: Sequence[TrialRecord]
    seconds: Sequence[Second]
    verdict: Verdict
    folder: str = "."
    comparison: Comparison | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True)
class ReportedBench:
    """A bench that was observed. ``folder`` is None where the run was not kept."""

    run: RunInfo
    result: BenchResult
    trial: TrialRecord
    seconds: Sequence[Second]
    folder: str | None = None


@dataclass(frozen=True)
class ReportedTuning:
    run: RunInfo
    plan: ExperimentPlan
    found: Assay | Search | Bisect
    folder: str


@dataclass(frozen=True)
class ReportedAdvice:
    run: RunInfo
    advice: IndexAdvice
    folder: str


@dataclass(frozen=True)
class ReportedUpgrade:
    run: RunInfo
    found: Upgrade
    folder: str


@dataclass(frozen=True)
class ReportedCheckup:
    """``folder`` is None where nothing is kept."""

    checkup: Checkup
    snapshot: Snapshot
    changes: Changes | None = None
    folder: str | None = None


@dataclass(frozen=True)
class ReportedGrowth:
    run: RunInfo
    growth: GrowthForecast
    folder: str
