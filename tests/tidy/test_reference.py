"""The published schemas are those of the records, and describe what is really written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def test_the_published_schemas_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "write-reference", tmp_path], check=True, timeout=60)
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    published = {path.name: path.read_text() for path in REFERENCE.glob("*.schema.json")}
    assert published == fresh, "run: .venv/bin/python tools/write-reference docs/reference"
    assert "study.schema.json" in published
