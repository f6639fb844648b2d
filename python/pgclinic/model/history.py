"""The runs of one study, comparison, load test or checkup over time, and where their figures changed."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.output import FactPair, FindingChanged, RunOutput
from pgclinic.model.record import Record


class FigureUnit(str, Enum):
    """``ratio`` is of an arm to its control, ``share`` from 0 to 1."""

    TPS = "TPS"
    MS = "ms"
    RATIO = "ratio"
    FINDINGS = "findings"
    SHARE = "share"


class ChangeTurn(str, Enum):
    """Which way a figure changed; ``changed`` is of one that has no better and no worse."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"


class FigureState(str, Enum):
    """What the newest change among the newest runs was; ``too_few`` are fewer runs than change points need."""

    TOO_FEW = "too_few"
    STEADY = "steady"
    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"


class FigurePoint(Record):
    """The figure of one run, ``run`` its place in the series' list of runs, with its 95 % CI where it has one.

    ``word`` is that of a claim's verdict, or of the comparison.
    """

    run: int
    value: float
    low: float | None = None
    high: float | None = None
    word: str | None = None


class FigureChange(Record):
    """From ``run`` to the next change the mean is ``after``; from the last change to ``run_before`` it was ``before``.

    ``change`` is the difference as a share of ``before``, None where that is 0. ``runs_since`` counts the runs from
    ``run`` on. ``differs`` are the facts in which both runs differ.
    """

    run: int
    run_before: int
    before: float
    after: float
    change: float | None
    p_value: float
    turn: ChangeTurn
    runs_since: int
    differs: tuple[FactPair, ...] = ()


class FigureHistory(Record):
    """One figure of comparable runs. ``name`` is what ``--figure`` takes: tps, p99, a claim, ratio, critical."""

    name: str
    unit: FigureUnit
    state: FigureState
    points: tuple[FigurePoint, ...]
    changes: tuple[FigureChange, ...] = ()


class CheckupStep(Record):
    """What became of the findings from the checkup before to ``run``; ``first`` is the finding at the top, in words."""

    run: int
    first: str | None
    changed: tuple[FindingChanged, ...] = ()


class RunSeries(Record):
    """Runs that can be compared, the oldest first. ``facts`` are those that they share, with ``differs`` the labels in
    which this series differs from the others."""

    facts: dict[str, str]
    differs: tuple[str, ...]
    runs: tuple[RunOutput, ...]
    figures: tuple[FigureHistory, ...]
    findings: tuple[CheckupStep, ...] = ()


class ChangeMethod(Record):
    """Change points are searched for in windows of ``window_runs``, in series of ``runs_min`` runs and more, and have a
    p value below ``p_value_max``. A change is the state of a figure if it is among the newest ``recent_runs`` runs."""

    window_runs: int
    runs_min: int
    p_value_max: float
    recent_runs: int


class HistoryOutput(Record):
    """``runs history --json``, and ``-o FILE.json``.

    ``left_out`` are runs of that name without an answer or a figure.
    """

    name: str
    series: tuple[RunSeries, ...]
    method: ChangeMethod
    left_out: tuple[str, ...] = ()
    format: int = 1
