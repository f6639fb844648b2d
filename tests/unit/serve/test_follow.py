"""A run followed by its events, and a directory of runs read again where it has changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.kept_runs import kept_study
from fixtures.live_run import stage, study_events
from pgclinic.errors import RunFailedError, UnknownNameError
from pgclinic.experiment.execute import _ended
from pgclinic.model.event import BlockRepeated, SecondMeasured
from pgclinic.model.output import RunState
from pgclinic.serve.follow import FollowedRun
from pgclinic.serve.kept_runs import KeptRuns
from pgclinic.store.directory_lock import directory_lock
from pgclinic.store.run_folder import RunFolder


def followed(tmp_path: Path) -> tuple[RunFolder, FollowedRun]:
    path = kept_study(tmp_path)
    (path / "events.jsonl").unlink()
    return RunFolder(path), FollowedRun(path, 0)


def test_events_are_read_once_and_whole(tmp_path: Path) -> None:
    folder, run = followed(tmp_path)
    run.read()
    assert "preparing" in run.parts()["now"]
    record, events = study_events()[0]
    for event in (stage(record, "warming up", left_s=72.0), *events[:3]):
        folder.add_event(event)
    run.read()
    run.read()
    assert len(run.live.points) == 2
    now = run.parts()["now"]
    assert ("block 1 of at most 9" in now, "measuring" in now, "at most 1:" in now) == (True, True, True)
    with (folder.path / "events.jsonl").open("ab") as out:
        out.write(b'{"event": "seco')
    run.read()
    assert len(run.live.points) == 2
    with (folder.path / "events.jsonl").open("ab") as out:
        out.write(b"no json\n")
    with pytest.raises(RunFailedError, match=r"events\.jsonl is damaged"):
        run.read()


def test_points_of_a_trial_follow_the_moment_at_which_it_began_to_measure(tmp_path: Path) -> None:
    folder, _ = followed(tmp_path)
    record, events = study_events()[0]
    began_us = events[0].at_epoch_us  # type: ignore[union-attr]
    run = FollowedRun(folder.path, began_us - 60_000_000)
    for event in events[:4]:
        folder.add_event(event)
    run.read()
    assert [point.at_s for point in run.live.points] == [60.0, 61.0, 62.0]
    assert run.live.arms == [record.spec.arm]


def test_the_last_second_is_shown_with_the_failures_of_its_trial(tmp_path: Path) -> None:
    folder, run = followed(tmp_path)
    _, events = study_events()[0]
    seconds = [event.second for event in events[1:3] if isinstance(event, SecondMeasured)]
    folder.add_event(events[0])
    for second, failed in zip(seconds, (2, 3), strict=True):
        slow = replace(second, latency_us_p50=800, latency_us_p99=12_000, failed=failed)
        folder.add_event(SecondMeasured(second=slow))
    run.read()
    rows = dict(run.live.now_rows(0))
    assert (rows["Latency p50"], rows["Latency p99"], rows["Failed"]) == ("800 µs", "12 ms", "5")


def test_doubts_of_a_trial_come_from_its_record(tmp_path: Path) -> None:
    doubt = starved(0.4)
    folder = RunFolder(kept_study(tmp_path))
    (record, _), *others = study_events({1: (doubt,)})
    record_file = folder.path / "trials" / "1"
    for file in record_file.iterdir():
        file.unlink()
    record_file.rmdir()
    folder.add_trial(record)
    (folder.path / "events.jsonl").unlink()
    folder.add_event(_ended(record))
    folder.add_event(_ended(others[0][0]))
    run = FollowedRun(folder.path, 0)
    run.read()
    (newest, first), left_out = run.live.trial_rows()
    assert (newest[0], newest[4], first[0], left_out) == ("2", "", "1", 0)
    assert "40 %" in first[4]


def test_a_block_that_is_repeated_takes_its_points_back(tmp_path: Path) -> None:
    folder, run = followed(tmp_path)
    trials = study_events()
    for _, events in trials[:4]:
        for event in events:
            folder.add_event(event)
    folder.add_event(BlockRepeated(block=1, host="a", reason="lost", at_epoch_us=0))
    run.read()
    kept = [event for _, events in trials[2:4] for event in events[1:]]
    assert (len(run.live.points), run.live.repeated) == (len(kept), 1)


def test_a_directory_is_read_again_where_it_has_changed(tmp_path: Path) -> None:
    runs = KeptRuns(tmp_path)
    runs.refresh()
    before = runs.revision
    path = kept_study(tmp_path)
    runs.look()
    assert runs.revision > before
    assert runs.named("a-study").state is RunState.UNFINISHED
    with pytest.raises(UnknownNameError, match="unknown run 'a-studdy'"):
        runs.named("a-studdy")
    with directory_lock(path):
        (path / "calibration.json").touch()
        runs.refresh()
        assert runs.named("a-study").state is RunState.RUNNING
    # Only its lock says that the command has ended.
    runs.look()
    assert runs.named("a-study").state is RunState.UNFINISHED
    (path / "run.json").write_text("no json")
    (path / "calibration.json").unlink()
    runs.refresh()
    assert runs.named("a-study").state is RunState.DAMAGED
    path.rename(tmp_path.parent / "elsewhere")
    runs.look()
    assert runs.newest_first() == []


def test_a_run_that_is_locked_some_time_after_it_was_made_is_running(tmp_path: Path) -> None:
    path = kept_study(tmp_path)
    made_ns = time.time_ns() - 10 * 10**9
    os.utime(path, ns=(made_ns, made_ns))
    runs = KeptRuns(tmp_path)
    runs.refresh()
    assert runs.named("a-study").state is RunState.UNFINISHED
    with directory_lock(path):
        os.utime(path, ns=(made_ns, made_ns))
        runs.look()
        assert runs.named("a-study").state is RunState.RUNNING


def test_a_directory_that_is_not_there_and_one_without_runs_are_empty(tmp_path: Path) -> None:
    (tmp_path / "no-run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for parent in (tmp_path, tmp_path / "none"):
        runs = KeptRuns(parent)
        runs.refresh()
        assert runs.newest_first() == []
