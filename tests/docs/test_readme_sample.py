"""README's sample output and picture, and the quickstart's figures, are those of the run that is kept as evidence."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fixtures.chromium import needs_chromium
from pgclinic.experiment.stored import plan_of
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.study.read import read_study

ROOT = Path(__file__).parents[2]
ARCHIVE = ROOT / "docs/evidence/global-counters-demo.tar.xz"
PICTURE = ROOT / "docs/images/report.png"
AGAIN = "make readme-picture writes README's sample output and picture from the kept run"
NUMBERS = {"four": 4, "five": 5, "six": 6, "seven": 7}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the kept run lies where it was made: runs/<name>."""
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(ARCHIVE) as tar:
        tar.extractall(folder / "runs", filter="data")
    return folder


@pytest.fixture(scope="module")
def run(place: Path) -> StoredRun:
    (folder,) = (place / "runs").iterdir()
    return read_run(folder)


def sample() -> list[str]:
    block = re.search(r"^```text\n(\$ pgclinic study run .*?)^```", readme(), re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_sample_output_is_what_the_kept_run_says(place: Path, run: StoredRun) -> None:
    command = [str(Path(sys.executable).parent / "pgclinic"), "study", "judge", f"runs/{run.path.name}"]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=120, check=False)
    shown = sample()
    assert shown[0] == f"$ {' '.join(run.info.command)}"
    assert shown[1] == "global-counters   a held xmin horizon slows updates by primary key"
    assert shown[2].startswith(f"{run.info.server} · arms free, held · blocks of 10 + 30 s · seed {run.info.seed} · ")
    assert shown[3] == ""
    assert shown[4:] == done.stdout.splitlines(), AGAIN
    assert (run.path / "report.html").is_file()


def test_the_kept_run_is_complete_and_small(run: StoredRun) -> None:
    assert ARCHIVE.stat().st_size < 100_000
    profile = plan_of(run).profile
    assert len(run.trials) >= 2 * profile.blocks_min
    assert len(run.seconds) > 100
    assert not any(trial.samples.taken for trial in run.trials)


def test_the_picture_is_small_and_its_words_are_those_of_the_run() -> None:
    image = re.search(r'<img src="([^"]+)" alt="([^"]+)"', readme())
    assert image is not None
    assert ROOT / image[1] == PICTURE
    assert PICTURE.stat().st_size < 150_000
    assert " ".join(sample()[4].split()) in image[2], AGAIN
    assert readme().index("<img") < readme().index("```text")


def test_the_quickstart_tells_how_much_the_demo_does(run: StoredRun) -> None:
    text = " ".join((ROOT / "docs/quickstart.md").read_text(encoding="utf-8").split())
    profile = read_study("global-counters")[0].profiles["demo"]
    said = re.search(r"(\w+) or (\w+) blocks of two trials, in about (\w+) minutes", text)
    assert said is not None
    assert (NUMBERS[said[1]], NUMBERS[said[2]]) == (profile.blocks_min, profile.blocks_max)
    assert profile.budget_s == NUMBERS[said[3]] * 60
    blocks = {trial.spec.block for trial in run.trials}
    assert profile.blocks_min <= len(blocks) <= profile.blocks_max
    assert f"runs/{run.path.name}" in text


@pytest.mark.drawn(0.2)
@needs_chromium()
def test_the_program_makes_the_same_texts_again_and_a_picture(tmp_path: Path) -> None:
    texts = ("README.md", "docs/quickstart.md", "docs/evidence/README.md")
    for name in texts:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    picture = tmp_path / "report.png"
    command = [sys.executable, str(ROOT / "tools/readme-picture"), "--root", str(tmp_path), "--picture", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in texts:
        assert (tmp_path / name).read_text(encoding="utf-8") == (ROOT / name).read_text(encoding="utf-8"), AGAIN
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == struct.unpack(">II", PICTURE.read_bytes()[16:24])[0]
    assert 500 < height < 1200
    assert len(content) < 150_000
