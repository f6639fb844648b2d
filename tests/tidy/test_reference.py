"""The published schemas and pages are those of the records and the catalog, and describe what is really written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pgclinic.checkup.catalog import catalog

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
AGAIN = "run: make reference"


def fresh(folder: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "tools" / "write-reference", folder], check=True, timeout=60)
    return folder


def texts(folder: Path, pattern: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob(pattern)}


def test_the_published_schemas_are_up_to_date(tmp_path: Path) -> None:
    published = texts(REFERENCE, "*.schema.json")
    assert published == texts(fresh(tmp_path), "*.schema.json"), AGAIN
    assert {"study.schema.json", "checkup.schema.json"} <= set(published)


def test_every_pathology_gets_a_page(tmp_path: Path) -> None:
    written = texts(fresh(tmp_path) / "pathologies", "*.md")
    assert set(written) == {"README.md", *(f"{name}.md" for name in catalog())}
    assert all(f"({name}.md)" in written["README.md"] for name in catalog())
    for name, pathology in catalog().items():
        assert written[f"{name}.md"].startswith(f"# {name}\n")
        assert f"| Area | {pathology.area.value} |" in written[f"{name}.md"]


def test_the_page_of_a_pathology_that_is_gone_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "pathologies" / "no-such-pathology.md"
    left.parent.mkdir()
    left.write_text("# no-such-pathology\n", encoding="utf-8")
    fresh(tmp_path)
    assert not left.exists()
