"""The figures of a kept run, and what became of each over several runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.finding import Severity
from pgclinic.model.history import (
    ChangeMethod,
    ChangeTurn,
    FigureChange,
    FigureHistory,
    FigurePoint,
    FigureState,
    FigureUnit,
)
from pgclinic.model.verdict import Interval, Verdict
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.stats.change_points import P_VALUE_MAX, RUNS_MIN, WINDOW_RUNS, ChangePoint, change_points
from pgclinic.store.run_list import StoredAnswer

#: A change is news for so many runs. After that it is how things are, and no run fails for it any more.
RECENT_RUNS = 10
METHOD = ChangeMethod(window_runs=WINDOW_RUNS, runs_min=RUNS_MIN, p_value_max=P_VALUE_MAX, recent_runs=RECENT_RUNS)

#: Exit codes of a load test whose clients all ran to the end, without and with a threshold that is crossed.
_MEASURED = (0, 3)
#: Units of which more is better (1), worse (-1) or neither.
_GOOD = {FigureUnit.TPS: 1, FigureUnit.MS: -1, FigureUnit.FINDINGS: -1}


@dataclass(frozen=True)
class RunFigure:
    """One figure of one run, with its 95 % CI; ``word`` is that of a verdict."""

    name: str
    unit: FigureUnit
    value: float
    low: float | None = None
    high: float | None = None
    word: str | None = None


def figures_of(answer: StoredAnswer) -> tuple[RunFigure, ...]:
    """What a series of such runs is made of; nothing of a run that measured nothing, or was refused."""
    match answer:
        case Verdict():
            return tuple(_claims(answer))
        case Comparison() if answer.word is not CompareWord.INVALID and answer.interval is not None:
            return (_ratio("ratio", answer.interval, answer.word.value),)
        case BenchResult() if answer.load.transactions and answer.exit_code in _MEASURED:
            return tuple(_load(answer))
        case Checkup():
            return tuple(_findings(answer))
    return ()


def figure_histories(runs: Sequence[Sequence[RunFigure]]) -> tuple[FigureHistory, ...]:
    """Each figure over the runs, the oldest first. Raises UsageError: the library for change points is missing."""
    seen: dict[tuple[str, FigureUnit], list[FigurePoint]] = {}
    for place, figures in enumerate(runs):
        for figure in figures:
            point = FigurePoint(run=place, value=figure.value, low=figure.low, high=figure.high, word=figure.word)
            seen.setdefault((figure.name, figure.unit), []).append(point)
    return tuple(_history(name, unit, points) for (name, unit), points in seen.items())


def _history(name: str, unit: FigureUnit, points: Sequence[FigurePoint]) -> FigureHistory:
    found = change_points([point.value for point in points])
    changes = tuple(_change(points, change, _GOOD.get(unit, 0)) for change in found)
    return FigureHistory(
        name=name, unit=unit, state=_state(len(points), changes), points=tuple(points), changes=changes
    )


def _change(points: Sequence[FigurePoint], change: ChangePoint, good: int) -> FigureChange:
    moved = (change.after - change.before) * good
    return FigureChange(
        run=points[change.index].run,
        run_before=points[change.index - 1].run,
        before=change.before,
        after=change.after,
        change=change.after / change.before - 1 if change.before else None,
        p_value=change.p_value,
        turn=ChangeTurn.CHANGED if not good else ChangeTurn.BETTER if moved > 0 else ChangeTurn.WORSE,
        runs_since=len(points) - change.index,
    )


def _state(runs: int, changes: Sequence[FigureChange]) -> FigureState:
    if runs < RUNS_MIN:
        return FigureState.TOO_FEW
    if not changes or changes[-1].runs_since > RECENT_RUNS:
        return FigureState.STEADY
    return FigureState(changes[-1].turn.value)


def _claims(verdict: Verdict) -> Iterator[RunFigure]:
    for claim in verdict.claims:
        if claim.word is not VerdictWord.INVALID and claim.interval is not None:
            yield _ratio(claim.claim, claim.interval, claim.word.value)


def _ratio(name: str, interval: Interval, word: str) -> RunFigure:
    return RunFigure(name, FigureUnit.RATIO, interval.ratio, interval.low, interval.high, word)


def _load(result: BenchResult) -> Iterator[RunFigure]:
    latency = result.load.latency
    yield RunFigure("tps", FigureUnit.TPS, result.load.tps)
    for name, latency_us in (("p50", latency.p50_us), ("p95", latency.p95_us), ("p99", latency.p99_us)):
        yield RunFigure(name, FigureUnit.MS, latency_us / 1000)


def _findings(checkup: Checkup) -> Iterator[RunFigure]:
    for severity in reversed(Severity):
        found = sum(finding.severity is severity for finding in checkup.findings)
        yield RunFigure(severity.value, FigureUnit.FINDINGS, float(found))
    if checkup.explained_share is not None:
        yield RunFigure("explained", FigureUnit.SHARE, checkup.explained_share)
