"""Processes are known by where they work, and end even when they hang."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pgclinic.lab.reaper import end_processes, is_running, process_start, processes_of, wait_for_end


def sleeper(directory: Path, name: str = "postgres") -> subprocess.Popen[bytes]:
    """A process that does nothing in a directory, under a program name of our choice."""
    program = directory.parent / name
    if not program.exists():
        shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    return subprocess.Popen([program, "60"], cwd=directory)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


def test_a_process_is_known_by_number_and_start(data_dir: Path) -> None:
    process = sleeper(data_dir)
    start = process_start(process.pid)
    assert start is not None
    assert is_running(process.pid, start)
    assert not is_running(process.pid, start + 1)
    process.kill()
    time.sleep(0.1)
    assert process_start(process.pid) is None, "a process that waits to be reaped does not run"
    process.wait()


def test_processes_are_found_by_their_directory(data_dir: Path) -> None:
    process = sleeper(data_dir)
    try:
        assert processes_of(data_dir) == (process.pid,)
        assert processes_of(data_dir / "other") == ()
        data_dir.rmdir()
        assert processes_of(data_dir) == (process.pid,), "also when the directory is gone"
    finally:
        process.kill()
        process.wait()


def test_whoever_only_looks_into_the_directory_is_spared(data_dir: Path) -> None:
    visitor = sleeper(data_dir, "visitor")
    try:
        assert processes_of(data_dir) == ()
        assert end_processes(data_dir, patience_s=0.1) == 0
        assert visitor.poll() is None
    finally:
        visitor.kill()
        visitor.wait()


def test_a_hanging_process_is_killed(data_dir: Path) -> None:
    process = sleeper(data_dir)
    os.kill(process.pid, signal.SIGSTOP)
    # Two pending signals are taken by number: before it has really stopped, SIGQUIT would come first and end it.
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    began = time.monotonic()
    assert end_processes(data_dir, patience_s=0.3) == 1
    assert 0.3 <= time.monotonic() - began < 3
    assert process.wait(timeout=1) == -signal.SIGKILL


def test_waiting_ends_with_the_process(data_dir: Path) -> None:
    process = subprocess.Popen(["sleep", "0.2"], cwd=data_dir)
    began = time.monotonic()
    wait_for_end(process.pid, process_start(process.pid) or 0)
    assert 0.1 < time.monotonic() - began < 5
    process.wait()
    wait_for_end(process.pid, 1)
