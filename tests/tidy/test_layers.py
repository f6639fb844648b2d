"""import-linter holds the layers; the contracts themselves are held here."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_contracts_are_kept() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Contracts: [1-9][0-9]* kept, 0 broken", done.stdout)


def test_every_package_stands_in_a_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"] is True
    named = {name.strip(" ()") for layer in layers["layers"] for name in layer.split("|")}
    packages = {path.parent.name for path in (ROOT / "python" / "pgclinic").glob("*/__init__.py")}
    assert packages <= named


def test_the_rust_module_is_imported_by_one_file() -> None:
    # import-linter sees Python files alone, and this module is none.
    pattern = re.compile(
        r"^\s*(?:from pgclinic import _load|import pgclinic\._load|from pgclinic\._load)", re.MULTILINE
    )
    package = ROOT / "python" / "pgclinic"
    importing = [path.name for path in package.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))]
    assert importing == ["engine.py"]


def test_the_report_computes_no_statistics() -> None:
    """Figures come from records, from analysis or from judge; the report places and words them."""
    package = ROOT / "python" / "pgclinic" / "report"
    pattern = re.compile(
        r"^\s*(?:from pgclinic\.stats|from pgclinic import stats|import pgclinic\.stats)", re.MULTILINE
    )
    assert [path.name for path in package.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_names_and_constants_of_sql_are_quoted_in_one_place() -> None:
    """Configuration files and the texts of records have quotes of their own kind."""
    package = ROOT / "python" / "pgclinic"
    doubled = ("""replace('"', '""')""", """replace("'", "''")""")
    quoting = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(words in path.read_text(encoding="utf-8") for words in doubled)
    }
    assert quoting == {"sql/quoting.py", "settings/conf_file.py", "twin/composite_values.py"}
