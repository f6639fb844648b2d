"""What works without /proc, without /sys and without what Python has on Linux only: a stand-in for macOS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for
from fixtures.tree import ROOT
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.dsn import dsn_of

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a root of its own"),
]

#: A root with all folders but those two, in the name space of this one command.
_ROOT = """
set -e
mount -t tmpfs tmpfs "$1"
for place in /*; do
  case $place in /proc|/sys) continue ;; esac
  if [ -L "$place" ]; then cp -P "$place" "$1"; elif [ -d "$place" ]; then
    mkdir "$1$place"; mount --rbind "$place" "$1$place"
  fi
done
root=$1 folder=$2; shift 2
exec chroot "$root" sh -c 'cd "$0"; exec "$@"' "$folder" "$@"
"""


class Macos:
    """Commands with a lab home of their own, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command; its exit code has to be ``code``."""
        program = [sys.executable, str(ROOT / "tests" / "fixtures" / "like_macos.py"), *words]
        inside = ["unshare", "--mount", "sh", "-c", _ROOT, "sh", str(self.root), str(self.folder), *program]
        settings = {"PGCLINIC_HOME": str(self.folder / "lab"), "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(
            inside,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done


@pytest.fixture
def macos() -> Iterator[Macos]:
    """In a folder that the account of the servers can enter."""
    with tempfile.TemporaryDirectory(prefix="pgclinic-test-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Macos(Path(folder))


@pytest.fixture
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={}) as server:
        yield server


def test_a_server_is_filled_loaded_and_examined(macos: Macos, running: RunningServer) -> None:
    dsn = dsn_of(running.server)
    macos.run("bench", "-i", "-s", "1", dsn)
    load = json.loads(macos.run("bench", "-S", "-c", "2", "-t", "50", "--json", dsn).stdout)
    assert "100" in json.dumps(load)
    found = json.loads(macos.run("checkup", dsn, "--observe", "1", "--json").stdout)
    assert found["checkup"]["database"] == "postgres"
    assert list((macos.folder / "runs").glob("*/report.html"))
    macos.run("capture", "twin", dsn, "-o", "app.twin")
    assert (macos.folder / "app.twin").stat().st_size > 0


def test_two_arms_of_a_running_server_are_compared(macos: Macos, running: RunningServer) -> None:
    dsn = dsn_of(running.server)
    trials = ("--script", "builtin:select-only", "--blocks", "4", "--warm-up", "0s", "--measure", "1s")
    done = macos.run("compare", "--dsn", dsn, "--a", "clients=1", "--b", "clients=2", *trials, "--json")
    assert json.loads(done.stdout)
    assert len(list((macos.folder / "runs").glob("*/trials/*/record.json"))) == 8


@pytest.mark.parametrize(
    "words",
    [
        ("lab", "start"),
        ("bench", "--lab", "-S"),
        ("study", "run", "global-counters", "--quick"),
        ("assay", "postgresql.conf"),
        ("doctor",),
    ],
)
def test_what_needs_the_lab_says_so_in_a_sentence(words: tuple[str, ...], macos: Macos) -> None:
    (macos.folder / "postgresql.conf").write_text("work_mem = '64kB'\n", encoding="utf-8")
    done = macos.run(*words, code=1)
    assert "Linux" in done.stderr and "hint: " in done.stderr
    assert "unexpected error" not in done.stderr
    assert not (macos.folder / "lab" / "versions").exists() or not list(
        (macos.folder / "lab" / "versions").glob("[0-9]*")
    )
