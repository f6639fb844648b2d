"""The picture of a figure over the runs: where dots, means and changes lie."""

from __future__ import annotations

from pgclinic.judge.run_figures import RunFigure, figure_histories
from pgclinic.model.history import FigureUnit
from pgclinic.model.output import RunOutput, RunState
from pgclinic.report.runs.history_picture import HistoryPicture, history_picture


def picture(values: list[float], low: float | None = None, high: float | None = None) -> HistoryPicture:
    (figure,) = figure_histories([[RunFigure("tps", FigureUnit.TPS, value, low, high)] for value in values])
    runs = [
        RunOutput(path=f"runs/r{place}", state=RunState.FINISHED, size_bytes=1, started_epoch_us=place * 86_400_000_000)
        for place in range(len(values))
    ]
    return history_picture(figure, runs)


def test_dots_lie_in_the_order_of_the_runs_and_higher_for_more() -> None:
    seen = picture([100.0, 120.0, 110.0])
    assert [dot.x for dot in seen.dots] == sorted(dot.x for dot in seen.dots)
    assert seen.dots[1].y < seen.dots[2].y < seen.dots[0].y
    assert all(seen.top <= dot.y <= seen.bottom for dot in seen.dots)
    assert (seen.first.text, seen.last.text) == ("1970-01-01", "1970-01-03")
    assert seen.dots[1].text == "1970-01-02 00:00, r1: 120 TPS"
    assert (seen.levels, seen.marks) == ((), ())


def test_a_change_stands_between_its_runs_and_each_side_has_its_mean() -> None:
    seen = picture([1000.0, 1010.0, 990.0, 1005.0, 700.0, 705.0, 695.0, 702.0])
    (mark,) = seen.marks
    assert seen.dots[3].x < mark.x < seen.dots[4].x
    assert mark.turn == "worse"
    before, after = seen.levels
    assert before.right < mark.x < after.left
    assert before.y < after.y
    assert before.left >= 0
    assert after.right <= 100
    assert all(seen.top <= tick.at <= seen.bottom for tick in seen.grid)
    assert len(seen.grid) >= 3


def test_intervals_reach_around_their_dot_and_one_run_has_a_picture() -> None:
    (dot,) = picture([100.0], 90.0, 115.0).dots
    assert dot.low is not None
    assert dot.high is not None
    assert dot.high < dot.y < dot.low
    assert picture([0.0, 0.0]).dots[0].y == picture([0.0, 0.0]).dots[1].y
