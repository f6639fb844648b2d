"""Each module with functions has a unit test of its name, or covered_by.toml names the test that covers it."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

from fixtures.tree import PACKAGE_FILES, ROOT, modules_of_verbs

PACKAGE = ROOT / "python" / "pgclinic"
TABLE = tomllib.loads((Path(__file__).parent / "covered_by.toml").read_text(encoding="utf-8"))
COVERED = {
    f"{package}/{module}".removeprefix("pgclinic/"): test
    for package, named in TABLE.items()
    for module, test in named.items()
}


def test_each_module_has_a_test_of_its_name_or_a_line_and_never_both() -> None:
    assert sorted(COVERED) == sorted(_without_namesake())


def test_each_line_names_a_test_file_that_exists() -> None:
    assert sorted({test for test in COVERED.values() if not (ROOT / test).is_file()}) == []


def test_the_lines_are_in_order() -> None:
    assert list(TABLE) == sorted(TABLE)
    for package, named in TABLE.items():
        assert list(named) == sorted(named), package


def test_the_imports_of_a_test_reach_the_module_that_it_covers() -> None:
    unreached = [
        f"{module}: {test}" for module, test in COVERED.items() if PACKAGE / f"{module}.py" not in _reached(ROOT / test)
    ]
    assert unreached == []


def _without_namesake() -> list[str]:
    names = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE_FILES if _has_functions(path)]
    tests = ROOT / "tests" / "unit"
    return [str(name) for name in names if not (tests / name.parent / f"test_{name.name}.py").is_file()]


def _has_functions(path: Path) -> bool:
    """Illnesses of tests/checkup cover the pathologies: tests/tidy/test_cross_fire.py has one for each."""
    text = path.read_text(encoding="utf-8")
    is_pathology = path.is_relative_to(PACKAGE / "checkup" / "pathologies") and "\nPATHOLOGY = " in text
    return not is_pathology and any(
        isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(ast.parse(text))
    )


@cache
def _reached(test: Path) -> frozenset[Path]:
    found: set[Path] = set()
    # The fixtures that a test has without an import.
    left = [test, *(folder / "conftest.py" for folder in (test.parent, ROOT / "tests"))]
    while left:
        path = left.pop()
        if path not in found and path.is_file():
            found.add(path)
            left += _imported(path)
    return frozenset(found)


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    text = path.read_text(encoding="utf-8")
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    # Who starts the command reaches what it imports.
    if not path.is_relative_to(PACKAGE) and '"pgclinic"' in text:
        names.add("pgclinic.__main__")
    if path == PACKAGE / "cli" / "verbs.py":
        names |= modules_of_verbs()
    return tuple(file for name in names for file in _files(name))


@cache
def _files(name: str) -> list[Path]:
    folder = ROOT / "python" if name.startswith("pgclinic") else ROOT / "tests"
    path = folder.joinpath(*name.split("."))
    if name == "pgclinic.checkup.pathologies":
        # The catalog imports all that lie there.
        return [file for file in PACKAGE_FILES if file.is_relative_to(path)]
    return [path.with_suffix(".py"), path / "__init__.py"]
