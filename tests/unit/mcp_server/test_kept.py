"""Run folders are found by name alone, and read only where they are bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.kept_runs import kept_bench, kept_checkup
from pgclinic.errors import RunFailedError, UnknownNameError, UsageError
from pgclinic.mcp_server import kept
from pgclinic.mcp_server.kept import kept_run, listed_runs, refuse_unbounded, run_names
from pgclinic.model.output import RunState
from pgclinic.report.runs.filter import RunFilter


@pytest.mark.parametrize("name", ["..", ".", "", "../runs/a", "/etc", "a/b", "a\\b", ".hidden", "a\nb", "a\0b"])
def test_a_path_is_not_a_name(tmp_path: Path, name: str) -> None:
    kept_bench(tmp_path)
    with pytest.raises(UsageError, match="is not the name of a run"):
        kept_run(tmp_path, name)


def test_the_nearest_run_is_named(tmp_path: Path) -> None:
    path = kept_bench(tmp_path)
    assert kept_run(tmp_path, path.name).path == path
    with pytest.raises(UnknownNameError) as refused:
        kept_run(tmp_path, "bench-1")
    assert refused.value.nearest == "bench-0"


def test_a_link_to_a_folder_elsewhere_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    kept_bench(tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "bench-0").symlink_to(tmp_path / "elsewhere" / "bench-0")
    assert run_names(tmp_path / "runs") == []
    with pytest.raises(UnknownNameError):
        kept_run(tmp_path / "runs", "bench-0")


def _link(folder: Path) -> None:
    (folder / "report.html").symlink_to("/etc/passwd")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "log.json")


def _large(folder: Path) -> None:
    with (folder / "events.jsonl").open("wb") as file:
        file.truncate(kept.FILE_BYTES_MAX + 1)


def _many(folder: Path) -> None:
    (folder / "trials").mkdir()
    for number in range(30):
        (folder / "trials" / str(number)).touch()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(_link, "a link or a special file"), (_pipe, "a link or a special file"), (_large, "64 MiB"), (_many, "files")],
)
def test_a_run_without_bounds_is_not_read_and_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: object, why: str
) -> None:
    monkeypatch.setattr(kept, "ENTRIES_MAX", 20)
    bad, good = kept_bench(tmp_path, 100.0, 1), kept_checkup(tmp_path)
    refuse_unbounded(bad)
    assert callable(spoil)
    spoil(bad)
    with pytest.raises(RunFailedError, match=why):
        kept_run(tmp_path, bad.name)
    listed = {Path(run.path): run for run in listed_runs(tmp_path, RunFilter(), 0.0)}
    assert listed[good].state is RunState.FINISHED
    assert listed[bad].state is RunState.DAMAGED and why in (listed[bad].problem or "")


def test_a_directory_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert run_names(tmp_path / "none") == []
