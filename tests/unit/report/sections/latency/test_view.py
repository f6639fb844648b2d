"""Latency over time: percentiles of every second, and a heat map where each second has its histogram."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.bench import bench_result, bench_run_info, bench_seconds, bench_trial, with_histograms
from fixtures.planned import judge
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.model.trial import TrialRecord
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.report.sections.latency.view import LatencyView, bench_latency, latency_view

STUDY = global_counters()
PLAIN = bench_trial()


def view_of(record: TrialRecord) -> LatencyView:
    view = bench_latency(ReportedBench(bench_run_info(), bench_result(record), record, bench_seconds(record), None))
    assert view is not None
    return view


def test_without_histograms_there_are_two_percentiles_and_the_reason() -> None:
    view = view_of(PLAIN)
    (shown,) = view.shown
    assert [line.name for line in shown.chart.lines] == ["p50", "p99", "max"]
    assert "No heat map" in view.missing
    assert PLAIN.load is not None
    assert shown.chart.lines[0].values[0] == PLAIN.load.seconds[0].latency_us_p50 / 1000


def test_with_histograms_there_are_all_percentiles_and_a_heat_map() -> None:
    view = view_of(with_histograms(PLAIN))
    percentiles, heat = view.shown
    assert [line.name for line in percentiles.chart.lines] == ["p50", "p90", "p95", "p99", "max"]
    first = [line.values[0] for line in percentiles.chart.lines]
    assert first == sorted(value for value in first if value is not None)
    assert view.missing == ""
    assert heat.chart.heat is not None
    edges, cells = heat.chart.heat.edges, heat.chart.heat.cells
    assert list(edges) == sorted(set(edges))
    # Every transaction of the histogram is in one cell, and the median is in the cell that has it.
    assert {sum(count for _, count in row) for row in cells} == {1673}
    reached, median = 0, first[0]
    assert median is not None
    for place, count in cells[0]:
        reached += count
        if reached >= 1673 / 2:
            assert edges[place] * 0.99 <= median <= edges[place + 1] * 1.01
            break
    shares = [float(row[2].removesuffix(" %")) for row in heat.rows]
    assert sum(shares) == pytest.approx(100, abs=3)


def test_a_study_has_the_mean_of_each_arm() -> None:
    trials, seconds = StudyRun(free_s=20, held_s=30).make()
    view = latency_view(ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials), "."))
    assert view is not None
    assert [one.title for one in view.shown] == ["Median (p50)", "99th percentile (p99)", "Maximum"]
    assert {tuple(line.name for line in one.chart.lines) for one in view.shown} == {("free", "held")}
    own = [one for one in seconds if one.arm == "held" and one.second == 5]
    mean_ms = sum(one.latency_us_p99 for one in own) / len(own) / 1000
    assert view.shown[1].chart.lines[1].values[5] == pytest.approx(mean_ms, abs=0.01)


def test_a_study_of_something_else_shows_no_latency() -> None:
    pages = replace(
        STUDY, claims=(replace(STUDY.claims[0], measure="probe_pages", published_windows=None, tail_s=None),)
    )
    trials, seconds = StudyRun().make()
    assert latency_view(ReportedStudy(run_info(), pages, trials, seconds, judge(pages, trials), ".")) is None
