"""Seconds of trials as lines: one for each trial, the mean of each arm on top, nothing that a trial's end shortened."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import StudyRun, failed_trial, global_counters
from pgclinic.report.parts.time_chart import ChartLine, TimeChart
from pgclinic.report.sections.throughput.lines import second_chart
from pgclinic.report.sections.throughput.view import hits_chart, tps_chart

STUDY = global_counters()
TRIALS, SECONDS = StudyRun(free_s=20, held_s=30).make()


def means(chart: TimeChart) -> dict[str, ChartLine]:
    return {line.name: line for line in chart.lines if line.trial is None}


def test_charts_have_a_line_a_trial_and_a_mean_an_arm() -> None:
    chart = tps_chart(STUDY, TRIALS, SECONDS, log=False)
    assert [line.trial for line in chart.lines] == [*range(1, 11), None, None]
    assert [line.name for line in chart.lines[-2:]] == ["free", "held"]
    assert [line.ink for line in chart.lines[-2:]] == ["arm-0", "arm-1"]
    assert chart.span_s == (0.0, 30.0)
    assert all(len(line.values) == len(chart.from_s) == 30 for line in chart.lines)
    assert means(chart)["free"].values[20:] == (None,) * 10  # free runs for 20 s only


def test_means_are_means_of_done_trials() -> None:
    chart = tps_chart(STUDY, TRIALS, SECONDS, log=False)
    held = [line for line in chart.lines if line.name.startswith("held, trial")]
    fifth = [line.values[5] for line in held]
    assert means(chart)["held"].values[5] == pytest.approx(sum(v for v in fifth if v is not None) / 5, abs=0.01)
    lost = failed_trial(STUDY, 1, 1, TRIALS[0].spec.arm, "lost", server_version="18.6")
    without = tps_chart(STUDY, (lost, *TRIALS[1:]), SECONDS, log=False)
    assert len(without.lines) == 12
    assert means(without) != means(chart)


def test_seconds_without_counters_leave_a_gap() -> None:
    hits = means(hits_chart(STUDY, TRIALS, SECONDS, log=False))["free"]
    assert hits.values[0] is None
    assert hits.values[1] is not None
    blind = tuple(replace(second, buffer_hits_per_transaction=None) for second in SECONDS)
    assert hits_chart(STUDY, TRIALS, blind, log=False).lines == ()


def test_a_cut_off_last_second_is_not_drawn() -> None:
    load = TRIALS[0].load
    assert load is not None
    shorter = replace(TRIALS[0], load=replace(load, measured_s=4.5))
    lines = tps_chart(STUDY, (shorter, *TRIALS[1:]), SECONDS, log=False).lines
    assert lines[0].values[4:] == (None,) * 26


def test_published_windows_are_steps() -> None:
    (steps,) = tps_chart(STUDY, TRIALS, SECONDS, log=False).steps
    assert (steps.name, steps.window_s, len(steps.values)) == ("published, held", 5.0, 6)


def test_no_seconds_give_no_lines() -> None:
    chart = tps_chart(STUDY, (), (), log=False)
    assert (chart.from_s, chart.lines, chart.steps) == ((), (), ())


def test_short_lines_are_gaps_to_the_end() -> None:
    lines = (ChartLine(name="a", ink="arm-0", values=(1.0,)), ChartLine(name="b", ink="arm-1", values=(1.0, 2.0)))
    chart = second_chart("x", "X", "ms", lines)
    assert chart.lines[0].values == (1.0, None)
    assert (chart.unit, chart.measured_in) == (" ms", "ms")
