"""The rules of the tree, as tests: sizes, names, dead files, banned words."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.tree import PACKAGE_FILES, ROOT, modules_of_verbs, tracked
from pgclinic.checkup import pathologies

FUNCTION_LINES = 70
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


PYTHON_FILES = tracked("*.py")
RUST_FILES = tracked("*.rs")
TEXT_FILES = [
    path
    for path in tracked()
    if path.suffix in {".py", ".rs", ".md", ".toml", ".sql", ".txt", ".in", ".html", ".css", ".js", ".json", ""}
    and not path.name.startswith("uPlot.")
]


def test_the_tree_is_seen() -> None:
    assert len(PACKAGE_FILES) > 30
    assert len(RUST_FILES) > 10


def test_a_long_file_is_named_as_advice_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name, lines in (("short.py", 600), ("long.py", 601), ("long.rs", 700), ("long.md", 900)):
        (tmp_path / name).write_text("\n" * lines, encoding="utf-8")
    (tmp_path / "made.py").write_text("# generated\n" * 601, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "long-files"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    words = [line.split(";")[0] for line in done.stdout.splitlines()]
    assert words == ["advice: long.py has 601 lines", "advice: long.rs has 700 lines"]
    assert "tools/long-files" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_no_class_name_stands_twice() -> None:
    places: dict[str, list[str]] = {}
    for path in PACKAGE_FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_records_are_read_in_one_way() -> None:
    """Any other one is not safe among threads: see model/decoding.py."""
    other = re.compile(r"msgspec\.(?:json\.decode\([^\n]*type=|json\.Decoder\(|convert\()")
    found = [path.name for path in PACKAGE_FILES if other.search(path.read_text(encoding="utf-8"))]
    assert found == ["decoding.py"]


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_functions_stay_small(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # A command has an option in each line of its signature.
    long = [
        f"{node.name}: {node.end_lineno - node.body[0].lineno + 1} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.body[0].lineno >= FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("path", RUST_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rust_functions_stay_small(path: Path) -> None:
    """rustfmt closes a function with a brace at the indent of its ``fn``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    long = []
    for start, line in enumerate(lines):
        match = re.match(r"( *)(?:pub(?:\([a-z]+\))? )?(?:const )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)", line)
        if match is None or line.rstrip().endswith(";"):
            continue
        end = next((n for n in range(start, len(lines)) if lines[n] == match[1] + "}"), start)
        if end - start >= FUNCTION_LINES:
            long.append(f"{match[2]}: {end - start + 1} lines")
    assert not long


def test_names_say_what_is_inside() -> None:
    bad = [
        str(path.relative_to(ROOT))
        for path in PYTHON_FILES + RUST_FILES
        if path.stem in BANNED_NAMES or path.stem.startswith("base_")
    ]
    assert not bad


def test_only_cli_and_report_print() -> None:
    printing = [
        str(path.relative_to(ROOT))
        for path in PACKAGE_FILES
        if not {"cli", "report"} & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not printing


def test_no_python_file_is_dead() -> None:
    """Every module of the package is imported by another one, or is an entry of the command."""
    entries = {"pgclinic.cli.main", "pgclinic.__main__", *modules_of_verbs()}
    modules = {module_name(path): path for path in PACKAGE_FILES if path.name != "__init__.py"}
    imported: set[str] = set()
    for path in PACKAGE_FILES:
        imported |= imports_of(path) - {module_name(path)}
    # A pathology is registered by lying in its folder: the catalog imports all of them.
    registered = {name for name, path in modules.items() if _is_pathology(name, path)}
    assert len(registered) > 150
    assert sorted(modules.keys() - imported - entries - registered) == []


def _is_pathology(name: str, path: Path) -> bool:
    return name.startswith("pgclinic.checkup.pathologies.") and "\nPATHOLOGY = " in path.read_text(encoding="utf-8")


def test_a_pathology_lies_in_the_folder_of_its_area() -> None:
    for module in pkgutil.walk_packages(pathologies.__path__, f"{pathologies.__name__}."):
        pathology = getattr(importlib.import_module(module.name), "PATHOLOGY", None)
        if pathology is not None:
            folder, name = module.name.split(".")[-2:]
            assert (folder, name) == (pathology.area.name.lower(), pathology.name.replace("-", "_"))


def test_every_test_asserts_something_or_says_what_it_proves() -> None:
    """By itself, by what is to be raised, or by a function whose name says that it checks."""
    silent = [
        f"{path.name}: {node.name}"
        for path in PYTHON_FILES
        if path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not _proves(node)
    ]
    assert silent == []


def _proves(test: ast.FunctionDef) -> bool:
    called = [ast.unparse(node.func).split(".")[-1] for node in ast.walk(test) if isinstance(node, ast.Call)]
    proves = any(re.fullmatch(r"_?(assert\w*|raises|check\w*|fail)", name) for name in called)
    return proves or ast.get_docstring(test) is not None or any(isinstance(node, ast.Assert) for node in ast.walk(test))


UNIT_TESTS = [path for path in PYTHON_FILES if path.is_relative_to(ROOT / "tests" / "unit")]


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.name)
def test_a_unit_test_lies_where_its_code_lies(path: Path) -> None:
    """It is in the folder of the package that it, or a fixture that it asks for, imports."""
    folder = path.relative_to(ROOT / "tests" / "unit").parts[0]
    names = [name.split(".")[-1] for name in imports_of(path)]
    beside = {"benches": ROOT / "benches", "fixtures": ROOT / "tests" / "fixtures"}
    if folder in beside:
        assert any((beside[folder] / f"{name}.py").is_file() for name in names)
    else:
        asked = [beside["fixtures"] / f"{name}.py" for name in names]
        texts = [file.read_text(encoding="utf-8") for file in (path, *asked) if file.is_file()]
        assert any(f"pgclinic.{folder}" in text for text in texts)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_query_file_is_dead() -> None:
    """Every query is asked for by name somewhere in the package, and every generation of it can be reached."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE_FILES)
    names = {path.name.split(".since_")[0] for path in tracked("python/**/*.sql")}
    assert names
    dead = sorted(name for name in names if not re.search(rf'query\(\s*"{name}"', source))
    assert not dead


def test_no_rust_file_is_dead() -> None:
    """A file that no ``mod`` names is not compiled at all."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in RUST_FILES)
    dead = [
        str(path.relative_to(ROOT))
        for path in tracked("crates/*/src/**/*.rs", "crates/*/src/*.rs")
        if path.name not in {"lib.rs", "main.rs"}
        and "bin" not in path.parts
        # dir/mod.rs is named by its folder
        and not re.search(rf"\bmod {path.parent.name if path.name == 'mod.rs' else path.stem}\b", sources)
    ]
    assert not dead


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("an absolute path of one machine", r"(?<![A-Za-z0-9_.])/(?:work|root|farm)/"),
        ("the host of a registry", "python" + "hosted|npm" + r"js|maven" + "2"),
        ("unfinished work", "NotImplemented" + "Error|to" + r"do!\(|unimple" + r"mented!\(|FIX" + "ME|XX" + "X:"),
        ("a test that is switched off", r"pytest\.mark\.(?:sk" + r"ip|xf" + r"ail)\("),
    ],
)
def test_nothing_that_must_not_be_there(what: str, pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in TEXT_FILES
        if path.name not in {"Cargo.lock", "test_tree.py"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert not found, what
