"""An engine built without optimisation is refused: its figures would be the engine's, not the server's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: It is built anew for it, which takes a minute.
pytestmark = [pytest.mark.alone, pytest.mark.drawn(0.25)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def debug_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with a debug engine in it, built from the same sources."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "-p", "pgclinic-load-python", "--features", "extension-module"],
        cwd=ROOT,
        check=True,
        timeout=280,
    )
    folder = tmp_path_factory.mktemp("debug")
    shutil.copytree(
        ROOT / "python" / "pgclinic", folder / "pgclinic", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    shutil.copy(target / "debug" / "lib_load.so", folder / "pgclinic" / "_load.abi3.so")
    return folder


@pytest.mark.timeout(300)
def test_a_debug_engine_refuses_to_measure(debug_package: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgclinic.cli.main", "study", "run", "global-counters"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(debug_package)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "debug" in done.stderr
    assert "release" in done.stderr
    assert not (tmp_path / "runs").exists()
