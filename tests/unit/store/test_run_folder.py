"""Run folders: written record by record, read back whole, never overwritten."""

from __future__ import annotations

import errno
import re
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.headline import headline_text
from fixtures.planned import judge, plan_of
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.errors import DiskFullError, RunFailedError, UsageError
from pgclinic.model.event import SecondMeasured
from pgclinic.model.tuning import Aim, Levels
from pgclinic.store import run_folder
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import RunFolder, read_run

TEXT = headline_text()
PLAN = plan_of(global_counters(), global_counters().profiles["quick"], seed=7)


def written(parent: Path) -> RunFolder:
    folder = RunFolder.create(parent, "a-run", run_info(), PLAN, TEXT)
    trials, seconds = StudyRun().make()
    for record in trials:
        folder.add_trial(record)
    for second in seconds:
        folder.add_event(SecondMeasured(second=second))
    return folder


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder = written(tmp_path)
    trials, seconds = StudyRun().make()
    stored = read_run(folder.path)
    assert stored.trials == trials
    assert stored.seconds == seconds
    assert stored.info == run_info()
    assert stored.plan == PLAN
    assert stored.study_toml == TEXT
    assert judge(global_counters(), stored.trials) == judge(global_counters(), trials)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    first, second = (RunFolder.create(tmp_path, "a-run", run_info(), PLAN, TEXT) for _ in range(2))
    assert (first.path.name, second.path.name) == ("a-run", "a-run-2")


@pytest.mark.parametrize("writes", range(5))
def test_a_run_that_was_killed_while_it_was_made_is_none_or_whole(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    done, write_whole = [], run_folder.write_whole

    def write(path: Path, content: bytes, *, private: bool = False) -> None:
        if len(done) == writes:
            raise KilledError
        done.append(path)
        write_whole(path, content, private=private)

    monkeypatch.setattr(run_folder, "write_whole", write)
    levels = Levels(aim=Aim.WORST, tried=(), left_out=(), start={})
    with suppress(KilledError):
        RunFolder.create(tmp_path, "a-run", run_info(), PLAN, TEXT, levels)
    path = tmp_path / "a-run"
    assert (path / "run.json").exists() == (writes == 4)
    if writes == 4:
        assert read_run(path).plan == PLAN
        assert RunFolder(path).read_levels() == levels


def test_an_interrupted_run_is_read_as_far_as_it_went(tmp_path: Path) -> None:
    folder = written(tmp_path)
    cut_off = folder.path / "trials" / "11"
    cut_off.mkdir()
    (cut_off / ".record.json.tmp").write_text('{"spec":', encoding="utf-8")
    with (folder.path / "events.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"event":"second","blo')
    stored = read_run(folder.path)
    assert len(stored.trials) == 10
    assert stored.seconds == StudyRun().make()[1]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run folder"):
        read_run(tmp_path)


@pytest.mark.parametrize("number", [1, 99])
def test_another_format_is_refused(tmp_path: Path, number: int) -> None:
    other = RunFolder.create(tmp_path, "other", replace(run_info(), format=number), PLAN, TEXT)
    with pytest.raises(UsageError, match=f"has format {number}; this pgclinic reads format 2"):
        read_run(other.path)


def test_a_damaged_trial_is_named_and_may_be_moved_away(tmp_path: Path) -> None:
    damaged = written(tmp_path)
    (damaged.path / "trials" / "3" / "record.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunFailedError, match=r"trials/3/record\.json is damaged") as caught:
        read_run(damaged.path)
    assert "trials/3 away" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("trials/2/observed.json", b"[]", "observed.json is damaged"),
        ("run.json", b'{"format": 2}', "run.json is damaged"),
        ("study.toml", b"\xff", "study.toml is damaged"),
        ("calibration.json", b"", "calibration.json is damaged"),
        ("events.jsonl", b'{"trial": 1}\n', r"events.jsonl is damaged: line 1: "),
        ("plan.json", b"{", "plan.json is damaged"),
    ],
)
def test_every_damaged_file_is_named(tmp_path: Path, file: str, content: bytes, words: str) -> None:
    folder = written(tmp_path)
    (folder.path / file).write_bytes(content)
    with pytest.raises(RunFailedError, match=words):
        read_run(folder.path)


@pytest.mark.parametrize(
    ("key", "number"),
    [("measured_s", "1e12"), ("measured_s", "-1"), ("measured_s", "1" + "0" * 30), ("transactions", "-10000")],
)
def test_a_number_that_no_trial_gives_is_damage(tmp_path: Path, key: str, number: str) -> None:
    """A list by the second of some took all memory, a ratio of others ended in a traceback."""
    folder = written(tmp_path)
    file = folder.path / "trials" / "1" / "record.json"
    file.write_text(re.sub(rf'("{key}": *)[0-9.]+', rf"\g<1>{number}", file.read_text(), count=1))
    with pytest.raises(RunFailedError, match=r"trials/1/record\.json is damaged"):
        read_run(folder.path)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path)
    before = sorted(path.name for path in folder.path.rglob("*"))

    def no_room(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder.os, "fsync", no_room)
    with pytest.raises(DiskFullError, match="no room left"):
        folder.write_report("<html>")
    assert sorted(path.name for path in folder.path.rglob("*")) == before


def test_the_machine_is_read() -> None:
    machine = read_machine()
    assert machine.cores >= 1
    assert machine.memory_bytes > 2**28
    assert machine.cpu_model
    assert machine.kernel


def test_a_torn_line_is_cut_before_the_next_is_written(tmp_path: Path) -> None:
    folder = written(tmp_path)
    seconds = StudyRun().make()[1]
    with (folder.path / "events.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"event":"second","blo')
    folder.cut_torn_event()
    folder.add_event(SecondMeasured(second=seconds[0]))
    assert read_run(folder.path).seconds == (*seconds, seconds[0])
    empty = RunFolder.create(tmp_path, "empty", run_info(), PLAN, TEXT)
    empty.cut_torn_event()
    assert read_run(empty.path).seconds == ()


def test_a_number_that_was_cut_off_is_used(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run", run_info(), PLAN, TEXT)
    assert folder.last_number() == 0
    folder.add_trial(StudyRun().make()[0][0])
    (folder.path / "trials" / "12").mkdir()
    assert folder.last_number() == 12


def test_info_is_written_anew(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run", run_info(), PLAN, TEXT)
    again = replace(run_info(), resumed_epoch_us=(7,), other_machines=(run_info().machine,))
    folder.write_info(again)
    assert read_run(folder.path).info == again
