"""README's recording of a checkup is what its program makes of the kept run, and needs no other host."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from fixtures.tree import ROOT

PICTURE = ROOT / "docs/images/checkup.svg"


def test_the_program_makes_the_same_recording_again(tmp_path: Path) -> None:
    again = tmp_path / "checkup.svg"
    command = [sys.executable, str(ROOT / "tools/readme-terminal"), "--picture", str(again)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert again.read_text(encoding="utf-8") == PICTURE.read_text(encoding="utf-8"), "make readme-picture writes it"


def test_the_recording_shows_the_command_its_answer_and_the_cure() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"')\s]+", svg)) == {"http://www.w3.org/2000/svg"}
    words = re.sub(r"<[^>]+>", " ", svg).replace("&#160;", " ")
    assert "$ pgclinic checkup DSN --prove" in words
    assert "create index" in words
    assert PICTURE.stat().st_size < 60_000
    assert "docs/images/checkup.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
