"""What runs out beside the disk: file descriptors, inodes. One clear sentence, and nothing is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.command import PATIENCE, PGCLINIC, Command


def under(shell: str, words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command behind what a shell does before."""
    return subprocess.run(
        ["bash", "-c", f'{shell} && exec "$0" "$@"', str(PGCLINIC), *words],
        cwd=folder,
        env={**os.environ, "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120 * PATIENCE,
    )


@pytest.fixture
def script(command: Command) -> Path:
    path = command.folder / "one.sql"
    path.write_text("select 1;\n", encoding="utf-8")
    return path


def left_in(home: Path) -> list[str]:
    return [path.name for path in (home / "instances").glob("*")]


def test_more_clients_than_files_is_one_sentence(fresh_home: Path, command: Command, script: Path) -> None:
    words = ("bench", "--lab", "-n", "-T", "1", "-c", "100", "-f", str(script))
    ran = under("ulimit -n 64", words, command.folder)
    assert ran.returncode == 1, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if "open files" in line]
    assert "100 clients need" in line and "ulimit -n allows 64" in line
    assert "hint: raise the limit (ulimit -n" in ran.stderr
    assert "could not create connection" not in ran.stderr
    assert left_in(fresh_home) == []


def test_a_soft_limit_is_raised(command: Command, script: Path) -> None:
    words = ("bench", "--lab", "-n", "-T", "1", "-c", "80", "-f", str(script))
    ran = under("ulimit -S -n 64", words, command.folder)
    assert ran.returncode == 0, ran.stderr
    assert "number of failed transactions: 0 " in ran.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
@pytest.mark.parametrize("inodes", [200, 1100])
def test_no_inodes(fresh_home: Path, script: Path, inodes: int) -> None:
    """With 200 the first empty cluster does not fit, with 1,100 its copy."""
    home = fresh_home
    mounted = f"mount -t tmpfs -o nr_inodes={inodes},size=600m,mode=755 tmpfs {home} || exit 77"
    words = ["bench", "--lab", "-n", "-T", "1", "-f", str(script)]
    inner = f'{mounted}; "$0" "$@"; code=$?; ls {home}/instances {home}/temporary >&2; exit $code'
    ran = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "bash", "-c", inner, str(PGCLINIC), *words],
        env={**os.environ, "TERM": "dumb", "PGCLINIC_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120 * PATIENCE,
    )
    if ran.returncode in (1, 77) and "mount" in ran.stderr + ran.stdout:
        pytest.skip(f"nothing can be mounted here: {ran.stderr.strip()}")
    assert ran.returncode == 2, ran.stderr
    assert "the file system has no inodes left" in ran.stderr
    assert "are needed," not in ran.stderr
    left = ran.stderr[ran.stderr.index(f"{home}/instances:") :].split()
    assert left == [f"{home}/instances:", f"{home}/temporary:"]
