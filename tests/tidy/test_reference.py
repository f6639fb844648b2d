"""The schemas and the pages of pathologies are made from the records and the catalog, and no copy of them is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.tool import tool
from fixtures.tree import ROOT, tracked
from pathology_pages import pathology_page
from pgclinic.checkup.catalog import catalog


def test_a_schema_of_each_record_is_written(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "write-reference", tmp_path], check=True, timeout=120)
    written = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert set(written) == set(tool("write-reference").SCHEMAS)
    assert {"study", "checkup", "checkup-output"} <= set(written)
    for schema in written.values():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert "$ref" in schema or "anyOf" in schema
    assert {"name", "arms", "claims"} <= set(written["study"]["$defs"]["Study"]["required"])


def test_no_copy_is_kept() -> None:
    assert tracked("docs/reference/*.json", "docs/reference/pathologies/*") == []


@pytest.mark.parametrize("name", list(catalog()))
def test_every_pathology_gets_a_page(name: str) -> None:
    page = pathology_page(catalog()[name], catalog())
    assert page.startswith(f"# {name}\n")
    assert f"| Area | {catalog()[name].area.value} |" in page
    assert catalog()[name].threshold[:20].replace("_", "\\_").replace("<", "\\<").replace("*", "\\*") in page
