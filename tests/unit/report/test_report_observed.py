"""What the server was doing, before it is drawn: which trial, which panels, gaps, events, and the same as a table."""

import json
import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from fixtures.observed import ACTIVITY, HORIZON, NO_STATEMENTS, processes_of, samples_of, watched
from fixtures.planned import judge
from fixtures.records import StudyRun, failed_trial, global_counters, run_info
from pgclinic.model.load import WindowResult, WindowsResult
from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.model.trial import TrialRecord
from pgclinic.report.kinds import study_page
from pgclinic.report.parts.time_chart import POINTS_MAX, TimeChart
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.server.panels import COLOURS, panel_of, quantity
from pgclinic.report.sections.server.series import (
    PARTS_MAX,
    REST,
    RUNNING,
    Piece,
    Track,
    cpu_track,
    rate_track,
    second_track,
    wait_track,
)
from pgclinic.report.sections.server.view import (
    ObservedArm,
    chosen_trial,
    missing_words,
    observed_arms,
)
from pgclinic.samples.deltas import Rate

STUDY = global_counters()
PLAIN, SECONDS = StudyRun(free_s=20, held_s=30).make()
TRIALS = watched(PLAIN)


def arms_of(trials: tuple[TrialRecord, ...] = TRIALS) -> dict[str, ObservedArm]:
    return {arm.arm: arm for arm in observed_arms(STUDY, trials, SECONDS, judge(STUDY, trials))}


def panel(arm: ObservedArm, name: str) -> TimeChart:
    return next(one for one in arm.panels if one.id == f"{name}-{arm.index}")


def names_of(arm: ObservedArm) -> list[str]:
    return [one.id.removesuffix(f"-{arm.index}") for one in arm.panels]


def page(trials: tuple[TrialRecord, ...] = TRIALS) -> str:
    return study_page(ReportedStudy(run_info(), STUDY, trials, SECONDS, judge(STUDY, trials), "runs/one"))


# --- which trial


def test_the_last_usable_block_is_shown() -> None:
    verdict = judge(STUDY, TRIALS)
    blocks = {arm: trial.spec.block for arm in ("free", "held") if (trial := chosen_trial(arm, TRIALS, verdict))}
    assert blocks == {"free": 5, "held": 5}
    last = max(trial.spec.number for trial in TRIALS)
    broken = next(trial for trial in TRIALS if trial.spec.number == last)
    lost = failed_trial(STUDY, last, 5, broken.spec.arm, "killed", server_version="18.6")
    trials = (*(trial for trial in TRIALS if trial is not broken), lost)
    chosen = [chosen_trial(arm, trials, judge(STUDY, trials)) for arm in ("free", "held")]
    assert [trial.spec.block for trial in chosen if trial is not None] == [4, 4]


def test_arms_without_samples_are_not_shown() -> None:
    assert arms_of(PLAIN) == {}
    free_only = tuple(trial if trial.spec.arm == "free" else replace(trial, samples=Samples()) for trial in TRIALS)
    assert list(arms_of(free_only)) == ["free"]
    assert 'id="server"' not in page(PLAIN)
    unmeasured = tuple(
        replace(trial, load=replace(trial.load, measured_s=0.0)) if trial.load else trial for trial in TRIALS
    )
    assert arms_of(unmeasured) == {}


# --- stretches of time


def test_rates_hold_from_sample_to_sample() -> None:
    track = rate_track(samples_of(5), {"hits": Rate.BUFFER_HITS, "reads": Rate.BUFFER_READS})
    assert track.pieces[0] == Piece(-1.0, 0.0, (900.0, 100.0))
    assert [piece.from_s for piece in track.pieces] == [-1, 0, 1, 2, 3, 4, 5]
    assert track.means(0.0, 5.0) == (900.0, 100.0)


def test_a_missing_sample_is_a_gap_and_no_line_across_it() -> None:
    track = rate_track(samples_of(8, missing=(4,)), {"hits": Rate.BUFFER_HITS})
    assert [(piece.from_s, piece.to_s) for piece in track.pieces if 2 <= piece.from_s <= 6] == [(2, 3), (5, 6), (6, 7)]
    assert track.at(3.5) is None
    chart = panel_of("pages", "Pages", "/s", track, (None,))
    assert 3.0 in chart.to_s
    assert 3.0 not in chart.from_s
    waits = wait_track(samples_of(8, missing=(4,)), 0.0, 8.0)
    assert waits.at(4.0) is None
    assert waits.at(3.4) == (1.0, 3.0, 2.0)


def test_a_short_last_interval_is_joined_with_the_one_before() -> None:
    """Sessions report what is left when they end: 25,000 pages in 19 ms drew 1.3 million a second."""
    samples = samples_of(5)
    last = Sample(at_s=6.019, view="database", rows=({"reset_s": 0, "commits": 701, "hits": 31_300, "reads": 700},))
    track = rate_track(replace(samples, taken=(*samples.taken, last)), {"found": Rate.BUFFER_HITS})
    ends = [(piece.from_s, piece.to_s) for piece in track.pieces]
    assert ends[-2:] == [(4.0, 5.0), (5.0, 6.019)]
    assert all(left[1] == right[0] for left, right in pairwise(ends))
    # All pages are still there, over the time in which they were found.
    assert track.pieces[-1].values[0] == pytest.approx((31_300 - 900 * 6) / 1.019)


def test_a_track_is_cut_at_the_ends_of_the_time_shown() -> None:
    track = Track(("one",), (Piece(-1.5, -0.6, (1.0,)), Piece(-0.6, 0.4, (2.0,)), Piece(9.4, 10.4, (3.0,))))
    assert track.within(-1.0, 10.0).pieces == (
        Piece(-0.6, 0.4, (2.0,)),
        Piece(9.4, 10.0, (3.0,)),
    )


def test_waits_begin_with_running_and_leave_idle_sessions_out() -> None:
    track = wait_track(samples_of(5), 0.0, 5.0)
    assert track.names == (RUNNING, "Lock: tuple", "LWLock: WALWrite")
    assert track.means(0.0, 5.0) == (1.0, 3.0, 2.0)


def test_many_waits_are_added_up_at_the_end() -> None:
    many: tuple[Row, ...] = tuple(
        {"state": "active", "wait_event_type": "IO", "wait_event": f"Event{n}", "backends": 20 - n} for n in range(12)
    )
    track = wait_track(samples_of(5, activity=lambda _: (*ACTIVITY[:1], *many)), 0.0, 5.0)
    assert len(track.names) == PARTS_MAX + 1
    assert (track.names[0], track.names[1], track.names[-1]) == (RUNNING, "IO: Event0", REST)
    whole = sum(value or 0.0 for value in track.means(0.0, 5.0))
    assert whole == pytest.approx(1 + sum(20 - n for n in range(12)))


def test_processors_are_those_of_each_kind() -> None:
    track = cpu_track(processes_of(5), 0.0, 5.0)
    assert track.names == ("client backend", "io worker", "checkpointer")
    assert track.means(0.0, 5.0) == pytest.approx((0.8, 0.1, 0.05))
    assert cpu_track((), 0.0, 5.0).empty


def test_seconds_of_alternating_arms_stand_where_they_were_counted() -> None:
    load = TRIALS[0].load
    assert load is not None
    window = WindowResult(
        number=0,
        at_s=0.0,
        counted_s=1.0,
        transactions=1,
        failed=0,
        rolled_back=0,
        statements=1,
        guarded=0,
        overran=0,
        overrun_us_max=0,
    )
    each = (window, replace(window, number=1, at_s=4.0))
    windows = WindowsResult(each=each, guard_s=0.0, span_s=5.0, loaded_s=2.0, overran=0, overrun_us_sum=0, uncounted=0)
    own = [second for second in SECONDS if second.trial == TRIALS[0].spec.number and second.second < 2]
    track = second_track("TPS", replace(load, windows=windows), own, lambda one: one.tps)
    assert [(piece.from_s, piece.to_s) for piece in track.pieces] == [(0.0, 4.0), (4.0, 5.0)]


# --- panels


def test_all_panels_stand_on_the_same_seconds() -> None:
    held = arms_of()["held"]
    names = ["tps", "p99", "waits", "wal", "images", "pages", "horizon", "cpu"]
    assert names_of(held) == names
    for one in held.panels:
        assert one.span_s == (-1.0, 30.0)
        assert one.trial == held.trial
        assert all(-1.0 <= begin < end <= 30.0 for begin, end in zip(one.from_s, one.to_s, strict=True))
        assert list(one.from_s) == sorted(set(one.from_s))
        assert all(len(line.values) == len(one.from_s) for line in one.lines)


def test_means_are_told_in_words() -> None:
    held = arms_of()["held"]
    assert panel(held, "wal").lines[0].mean == "2 MB/s"
    assert panel(held, "images").lines[0].mean == "50.0/s"
    assert panel(held, "pages").note == "hit ratio 90 %"
    assert [line.mean for line in panel(held, "waits").lines] == ["1", "3", "2"]
    assert quantity(None, "/s") == "-"
    assert [quantity(value, "") for value in (0.02874, 0.001, 0.0)] == ["0.03", "< 0.01", "0"]


def test_a_horizon_is_shown_where_it_grows() -> None:
    arms = arms_of()
    assert "horizon" not in names_of(arms["free"])
    assert panel(arms["held"], "horizon").lines[0].values[-1] == 30 * HORIZON


def test_what_stayed_at_zero_is_named_and_not_drawn() -> None:
    still = replace(TRIALS[0].samples, taken=tuple(_without_images(one) for one in TRIALS[0].samples.taken))
    shown = arms_of((replace(TRIALS[0], samples=still), *TRIALS[1:2]))[TRIALS[0].spec.arm]
    assert "images" not in names_of(shown)
    assert "Zero throughout the trial: full-page images." in shown.missing
    assert "tps" in names_of(shown)


def _without_images(sample: Sample) -> Sample:
    rows = tuple({**row, "full_page_images": 0} if "full_page_images" in row else row for row in sample.rows)
    return replace(sample, rows=rows)


def test_a_name_has_the_same_colour_in_all_arms() -> None:
    def activity(second: int) -> tuple[Row, ...]:
        return (ACTIVITY[0], ACTIVITY[2])

    trials = tuple(trial if trial.spec.arm == "free" else watched((trial,), activity=activity)[0] for trial in TRIALS)
    arms = arms_of(trials)
    colours = [{line.name: line.ink for line in panel(arms[arm], "waits").lines} for arm in ("free", "held")]
    assert colours[0] == {RUNNING: "part-0", "Lock: tuple": "part-1", "LWLock: WALWrite": "part-2"}
    assert colours[1] == {RUNNING: "part-0", "LWLock: WALWrite": "part-2"}
    assert PARTS_MAX < COLOURS
    waiting = arms_of(watched(PLAIN, activity=lambda _: ACTIVITY[1:]))["free"]
    assert {line.name: line.ink for line in panel(waiting, "waits").lines}["Lock: tuple"] != "part-0"


def test_a_second_without_a_transaction_has_no_latency() -> None:
    quiet = tuple(replace(second, tps=0.0, latency_us_p99=0) if second.second == 3 else second for second in SECONDS)
    held = next(arm for arm in observed_arms(STUDY, TRIALS, quiet, judge(STUDY, TRIALS)) if arm.arm == "held")
    row = dict(zip(held.heads, held.rows[4], strict=True))
    assert (row["Seconds"], row["TPS"], row["p99"]) == ("3 to 4", "0", "-")
    assert None in panel(held, "p99").lines[0].values


def test_a_cut_off_last_second_is_not_drawn() -> None:
    trials = tuple(
        replace(trial, load=replace(trial.load, measured_s=19.5)) if trial.load else trial for trial in TRIALS
    )
    free = arms_of(trials)["free"]
    assert panel(free, "tps").to_s[-1] == 19.0
    assert panel(free, "tps").span_s == (-1.0, 19.5)


# --- events, and what is missing


def test_what_was_not_seen_is_told_with_its_reason() -> None:
    words = missing_words(samples_of(20, missing=(4, 7)))
    assert words[0] == f"Not sampled: statement texts and statements; {NO_STATEMENTS}."
    assert words[1].startswith("At 2 moments a sample was late or missing")
    assert not any("full-page" in word for word in words)
    assert "full-page images" in missing_words(samples_of(20, images=False))[-1]
    late = replace(samples_of(20), failed={"wal": "canceling statement due to statement timeout"})
    assert missing_words(late) == ("Incomplete: wal; canceling statement due to statement timeout.",)
    away = tuple(replace(trial, processes=()) for trial in TRIALS)
    assert "processes" in arms_of(away)["free"].missing[-1]
    assert "cpu" not in names_of(arms_of(away)["free"])


# --- the table


def test_the_table_holds_what_the_panels_show() -> None:
    held = arms_of()["held"]
    assert len(held.rows) == 31
    assert {len(row) for row in held.rows} == {len(held.heads)}
    by_second = {row[0]: dict(zip(held.heads, row, strict=True)) for row in held.rows}
    warm_up, fourth = by_second["-1 to 0"], by_second["4 to 5"]
    assert warm_up["TPS"] == "-"
    assert warm_up["WAL/s"] == "2 MB"
    assert fourth["Checkpoints"] == "1"
    assert fourth["Backends running"] == "1"
    assert fourth["Backends not idle"] == "6"
    assert fourth["CPU"] == "1.4"
    assert by_second["7 to 8"]["Autovacuums"] == "3"
    assert by_second["9 to 10"]["Autovacuums"] == "-"


def test_a_long_trial_is_told_in_longer_steps() -> None:
    long = replace(TRIALS[0], samples=samples_of(2000), processes=processes_of(2000))
    assert long.load is not None
    long = replace(long, load=replace(long.load, measured_s=2000.0))
    (arm,) = observed_arms(STUDY, (long,), (), judge(STUDY, (long,)))
    assert 250 < len(arm.rows) <= 300
    row = dict(zip(arm.heads, arm.rows[10], strict=True))
    assert (row["Seconds"], row["WAL/s"], row["Backends not idle"]) == ("63 to 70", "2 MB", "6")
    assert all(len(one.from_s) <= POINTS_MAX for one in arm.panels)
    assert set(panel(arm, "pages").lines[0].values) == {900.0}
    assert "of a stack those with the lowest and the highest sum" in arm.thinned_words


# --- the page


def test_the_page_has_a_pane_an_arm_and_the_first_is_open() -> None:
    html = page()
    assert html.count('class="pane"') == 2
    assert len(re.findall(r'name="observed"[^>]* checked', html)) == 1
    assert html.index(" checked") < html.index('id="observed-1"')
    found = re.search(r'<script type="application/json" id="charts-server">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data = json.loads(found.group(1))
    assert sorted(data["marks"]) == ["10", "9"]
    assert {str(chart["trial"]) for chart in data["charts"]} == set(data["marks"])


def test_names_from_a_server_cannot_become_markup() -> None:
    evil = "</script><script>alert(1)</script><!--"
    row: Row = {"state": "active", "wait_event_type": evil, "wait_event": evil, "backends": 5}
    trials = watched(PLAIN, activity=lambda _: (row,))
    trials = tuple(replace(trial, samples=replace(trial.samples, failed={evil: evil})) for trial in trials)
    html = page(trials)
    assert "<script>alert" not in html
    assert html.count("<script") == page().count("<script")
