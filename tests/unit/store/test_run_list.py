"""Which folders are runs, which of them are in use, and what is never deleted."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures.bench_results import bench_folder, bench_result
from fixtures.checkups import SICK
from fixtures.kept_runs import PLAN, kept_checkup
from fixtures.records import run_info
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.store.directory_lock import directory_lock, is_in_use
from pgclinic.store.run_folder import RunFolder
from pgclinic.store.run_list import FoundRun, delete_run, find_run, found_run, runs_below, why_not_deleted

#: A command that holds a run folder until its stdin ends, or it is killed.
WRITER = """
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pgclinic.store.directory_lock import directory_lock
with directory_lock(Path(sys.argv[1])):
    print("holds", flush=True)
    sys.stdin.read()
"""


def study(parent: Path, name: str = "a-study") -> Path:
    return RunFolder.create(parent, name, run_info(), PLAN).path


def by_name(parent: Path) -> dict[str, FoundRun]:
    return {run.path.name: run for run in runs_below(parent)}


def test_runs_of_every_command_are_found_with_their_answers(tmp_path: Path) -> None:
    result = bench_result("-c", "2", "-T", "5")
    bench = bench_folder(tmp_path, result)
    examined, begun = kept_checkup(tmp_path), study(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "todo.txt").write_text("not a run")
    found = by_name(tmp_path)
    assert set(found) == {bench.name, examined.name, begun.name}
    assert found[bench.name].answer == result
    assert found[examined.name].answer == SICK
    assert found[begun.name].answer is None
    assert found[begun.name].info == run_info()
    sizes = sum(file.stat().st_size for file in begun.rglob("*") if file.is_file())
    assert found[begun.name].size_bytes == sizes


def test_a_damaged_run_is_listed_with_its_reason_and_never_pruned(tmp_path: Path) -> None:
    cut, newer = study(tmp_path, "cut"), study(tmp_path, "newer")
    (cut / "run.json").write_text('{"command": [')
    info = json.loads((newer / "run.json").read_text())
    (newer / "run.json").write_text(json.dumps({**info, "format": 99}))
    found = by_name(tmp_path)
    assert found["cut"].info is None
    assert "run.json is damaged" in (found["cut"].problem or "")
    assert "format 99" in (found["newer"].problem or "")
    assert all(why_not_deleted(run) is not None for run in found.values())


def test_a_run_that_another_process_writes_is_in_use_until_that_is_gone(tmp_path: Path) -> None:
    folder = study(tmp_path)
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "holds\n"
        assert found_run(folder).is_in_use
        with pytest.raises(UsageError, match="in use"):
            delete_run(folder)
        writer.send_signal(signal.SIGKILL)
    assert not found_run(folder).is_in_use
    delete_run(folder)
    assert not folder.exists()


def test_whoever_only_looks_does_not_keep_a_command_from_its_folder(tmp_path: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            is_in_use(tmp_path)
            time.sleep(0.001)

    with ThreadPoolExecutor(2) as lookers:
        for _ in range(2):
            lookers.submit(look)
        taken = []
        for _ in range(100):
            with directory_lock(tmp_path, wait=False, patience_s=10.0) as held:
                taken.append(held)
                time.sleep(0.0005)
        stop.set()
    assert all(taken)


def test_files_of_the_user_and_links_are_left_alone(tmp_path: Path) -> None:
    folder = study(tmp_path)
    (folder / "my notes.txt").write_text("kept")
    with pytest.raises(UsageError, match=r"did not write: my notes\.txt"):
        delete_run(folder)
    assert (folder / "run.json").is_file()
    (folder / "my notes.txt").unlink()
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(UsageError, match="is a link"):
        delete_run(link)
    # What a kill left half written is ours.
    (folder / ".verdict.json.abc").write_text("{")
    delete_run(folder)
    assert not folder.exists()


def test_a_run_is_named_by_its_path_or_below_the_directory(tmp_path: Path) -> None:
    folder = study(tmp_path, "2026-11-25-drop-table-1")
    assert find_run(folder, Path("elsewhere")) == folder
    assert find_run(Path(folder.name), tmp_path) == folder
    with pytest.raises(UnknownNameError) as unknown:
        find_run(Path("2026-11-25-drop-table-2"), tmp_path)
    assert unknown.value.nearest == folder.name
    with pytest.raises(UsageError, match=r"no run\.json"):
        find_run(tmp_path, tmp_path)
    shutil.rmtree(folder)
    with pytest.raises(UsageError, match="there is no directory"):
        list(runs_below(tmp_path / "nothing"))
