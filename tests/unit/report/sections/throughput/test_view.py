"""Throughput in the pages of a study and of a bench: the chart, and the same figures as a table."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bench import bench_result, bench_run_info, bench_seconds, bench_trial
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.report.parts.time_chart import DrawnCharts
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.report.sections.throughput.view import ROWS_MAX, bench_throughput, throughput_view

STUDY = global_counters()
RECORD = bench_trial()


def bench(seconds: tuple[object, ...]) -> ReportedBench:
    return ReportedBench(bench_run_info(), bench_result(RECORD), RECORD, seconds, None)  # type: ignore[arg-type]


def test_a_table_has_the_means_of_each_second() -> None:
    trials, seconds = StudyRun(free_s=20, held_s=30).make()
    view = throughput_view(ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials), "."))
    assert view is not None
    tps, hits = view.shown
    assert tps.heads == ("Second", "free", "held")
    assert [row[0] for row in tps.rows] == [str(second) for second in range(1, 31)]
    assert tps.rows[25][1] == "-"
    assert hits.rows[0][0] == "2"
    drawn = view.drawn["charts-throughput"]
    assert isinstance(drawn, DrawnCharts)
    assert [chart.id for chart in drawn.charts] == ["tps", "hits"]


def test_an_hour_is_a_table_of_longer_steps() -> None:
    trials, seconds = StudyRun(free_s=3600, held_s=3600).make()
    view = throughput_view(ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials), "."))
    assert view is not None
    assert len(view.shown[0].rows) == ROWS_MAX
    assert [row[0] for row in view.shown[0].rows[:2]] == ["1 to 12", "13 to 24"]
    assert view.shown[0].chart.each_s > 1


def test_a_bench_shows_its_load_and_what_failed() -> None:
    seconds = bench_seconds(RECORD)
    view = bench_throughput(bench(seconds))
    assert view is not None
    (shown,) = view.shown
    assert [line.name for line in shown.chart.lines] == ["committed"]
    assert shown.chart.trial == RECORD.spec.number
    assert shown.chart.lines[0].values == (100.0,) * 20
    failing = (replace(seconds[0], failed=3), *seconds[1:])
    failed = bench_throughput(bench(failing))
    assert failed is not None
    assert failed.shown[0].chart.lines[1].values[:2] == (3.0, 0.0)


def test_a_load_without_a_whole_second_has_no_chart() -> None:
    assert bench_throughput(bench(())) is None
