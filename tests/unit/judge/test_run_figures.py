"""The figures of a run: what is measured has some, what is refused or broken off has none."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bench_results import bench_result
from fixtures.checkups import SICK
from fixtures.comparison import comparison
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, load_result
from pgclinic.judge.run_figures import RECENT_RUNS, RunFigure, figure_histories, figures_of
from pgclinic.model.history import ChangeTurn, FigureState, FigureUnit
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import CompareWord, VerdictWord


def state(unit: FigureUnit, *values: float) -> FigureState:
    (history,) = figure_histories([[RunFigure("a", unit, value)] for value in values])
    return history.state


def step(before: float, after: float, runs_after: int) -> list[float]:
    return [value * (1 + 0.01 * (place % 3 - 1)) for place, value in enumerate([before] * 8 + [after] * runs_after)]


def test_a_load_test_that_was_broken_off_has_no_figure() -> None:
    result = bench_result("-c", "2", "-T", "5")
    tps, *latencies = figures_of(result)
    assert (tps.name, tps.unit, tps.value) == ("tps", FigureUnit.TPS, result.load.tps)
    assert [figure.value for figure in latencies] == [0.6, 1.8, 3.0]
    # A threshold that is crossed is no reason to distrust what was measured.
    assert figures_of(replace(result, exit_code=3)) == (tps, *latencies)
    assert figures_of(replace(result, exit_code=2)) == ()
    assert figures_of(bench_result("-c", "2", "-T", "5", load=load_result([0.0, 0.0]))) == ()


def test_an_invalid_claim_and_an_invalid_comparison_have_none() -> None:
    trials, _ = StudyRun().make()
    verdict = judge(global_counters(), trials)
    assert [figure.name for figure in figures_of(verdict)] == [claim.claim for claim in verdict.claims]
    refused = tuple(
        replace(claim, word=VerdictWord.INVALID, invalid_because=InvalidReason.STARVED_CPU) for claim in verdict.claims
    )
    assert figures_of(replace(verdict, claims=refused)) == ()
    compared = comparison([1.5] * 6)
    assert [figure.word for figure in figures_of(compared)] == ["faster"]
    assert figures_of(replace(compared, word=CompareWord.INVALID)) == ()


def test_a_checkup_counts_its_findings() -> None:
    found = {figure.name: figure.value for figure in figures_of(SICK)}
    assert list(found)[:3] == ["critical", "warning", "notice"]
    assert sum(found[name] for name in ("critical", "warning", "notice")) == len(SICK.findings)
    assert found["explained"] == SICK.explained_share


def test_what_is_worse_depends_on_the_figure() -> None:
    assert state(FigureUnit.TPS, *step(1000, 800, 4)) is FigureState.WORSE
    assert state(FigureUnit.TPS, *step(800, 1000, 4)) is FigureState.BETTER
    assert state(FigureUnit.MS, *step(8, 10, 4)) is FigureState.WORSE
    assert state(FigureUnit.FINDINGS, *[2.0] * 8, *[5.0] * 8) is FigureState.WORSE
    assert state(FigureUnit.RATIO, *step(0.5, 0.8, 4)) is FigureState.CHANGED
    assert state(FigureUnit.TPS, *step(1000, 800, 4)[:5]) is FigureState.TOO_FEW


def test_a_change_is_the_state_for_the_newest_runs_alone() -> None:
    assert state(FigureUnit.TPS, *step(1000, 800, RECENT_RUNS)) is FigureState.WORSE
    assert state(FigureUnit.TPS, *step(1000, 800, RECENT_RUNS + 1)) is FigureState.STEADY


def test_a_run_without_the_figure_is_passed_over() -> None:
    values = step(1000, 800, 4)
    runs = [[RunFigure("tps", FigureUnit.TPS, value)] for value in values]
    (history,) = figure_histories([*runs[:8], [], *runs[8:]])
    (change,) = history.changes
    assert (change.run_before, change.run, change.runs_since) == (7, 9, 4)
    assert change.turn is ChangeTurn.WORSE
    assert len(history.points) == 12
