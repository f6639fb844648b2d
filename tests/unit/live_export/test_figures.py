"""Figures follow the events of a run."""

from __future__ import annotations

import pytest

from fixtures.doubts import starved
from pgclinic.live_export.figures import (
    BLOCKS,
    BLOCKS_DONE,
    DOUBTS,
    FAILED,
    FIGURES,
    HITS,
    LATENCY,
    LEFT,
    MEASURED,
    PROOFS,
    RATE,
    RATIO,
    STAGE,
    TRIALS,
    ExportedFigure,
    ExportedPoint,
    RunFigures,
)
from pgclinic.model.event import ClaimJudged, ProofReached, SecondMeasured, StageReached, TrialEnded, VerdictReached
from pgclinic.model.finding import Proof
from pgclinic.model.progress import Progress
from pgclinic.model.run import Second


def second(arm: str, tps: float, failed: int = 0, hits: float | None = None) -> SecondMeasured:
    return SecondMeasured(
        second=Second(
            trial=1,
            block=1,
            arm=arm,
            second=0,
            tps=tps,
            failed=failed,
            latency_us_p50=1_500,
            latency_us_p99=20_000,
            buffer_hits_per_transaction=hits,
        )
    )


def stage(arm: str, name: str, progress: Progress | None = None) -> StageReached:
    return StageReached(trial=1, block=1, arm=arm, stage=name, at_epoch_us=0, progress=progress)


def values(figures: RunFigures, figure: ExportedFigure) -> dict[tuple[str, ...], float]:
    return {tuple(value for _, value in point.labels): point.value for point in figures.points(figure)}


def test_a_run_that_has_not_begun_has_no_rates() -> None:
    figures = RunFigures()
    known = {figure.name: figures.points(figure) for figure in FIGURES if figures.points(figure)}
    assert known == {"blocks.done": [ExportedPoint(0)], "export.events_dropped": [ExportedPoint(0)]}


def test_the_last_second_of_each_arm_and_what_adds_up() -> None:
    figures = RunFigures()
    for event in (second("a", 100, failed=2, hits=4.5), second("b", 50), second("a", 110, failed=1)):
        figures.after(event)
    assert values(figures, RATE) == {("a",): 110, ("b",): 50}
    assert values(figures, LATENCY) == {
        ("a", "0.5"): 0.0015,
        ("a", "0.99"): 0.02,
        ("b", "0.5"): 0.0015,
        ("b", "0.99"): 0.02,
    }
    assert values(figures, FAILED) == {("a",): 3, ("b",): 0}
    assert values(figures, MEASURED) == {("a",): 2, ("b",): 1}
    assert values(figures, HITS) == {("a",): 4.5}


def test_one_stage_of_an_arm_holds() -> None:
    figures = RunFigures()
    figures.after(stage("a", "warming up", Progress(block=1, blocks=6, arm="a", stage="warming up", left_s=30.0)))
    figures.after(stage("a", "measuring"))
    assert values(figures, STAGE) == {("a", "warming up"): 0, ("a", "measuring"): 1}
    figures.after(TrialEnded(trial=1, block=1, arm="a", at_epoch_us=0, tps=5.0))
    assert set(values(figures, STAGE).values()) == {0}
    assert values(figures, BLOCKS) == {(): 6}
    assert values(figures, LEFT) == {(): 30.0}


def test_trials_doubts_verdicts_and_proofs() -> None:
    figures = RunFigures()
    figures.after(TrialEnded(trial=1, block=1, arm="a", at_epoch_us=0, tps=5.0))
    figures.after(TrialEnded(trial=2, block=1, arm="a", at_epoch_us=0, failure="the server is gone"))
    figures.doubted((starved(0.3), starved(0.4)))
    figures.after(
        VerdictReached(block=3, claims=(ClaimJudged(claim="c", word="faster", ratio=1.2, low=1.1),), at_epoch_us=0)
    )
    figures.after(ProofReached(finding="f", proof=Proof(treatment=0, word="faster"), at_epoch_us=0))
    figures.after(ProofReached(finding="g", proof=Proof(treatment=0, word=None, reason="no rows"), at_epoch_us=0))
    assert values(figures, TRIALS) == {("a", "done"): 1, ("a", "failed"): 1}
    assert values(figures, DOUBTS) == {("starved_cpu",): 2}
    assert values(figures, BLOCKS_DONE) == {(): 3}
    assert values(figures, RATIO) == {("c", "estimate"): 1.2, ("c", "low"): 1.1}
    assert values(figures, PROOFS) == {("faster",): 1, ("no verdict",): 1}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_has_a_unit_and_words(figure: ExportedFigure) -> None:
    assert (figure.unit and figure.help[0].isupper()) or figure.help[0].isdigit()
