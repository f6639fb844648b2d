"""Modules of the engine do not import each other in a circle, so that each can be read after those below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
_PATH = re.compile(r"\b(crate|super|self)((?:::\w+|::\{[^{}]*\})+)")
_PART = re.compile(r"::(\w+)|::\{([^{}]*)\}")

Module = tuple[str, ...]


def modules_of(source: Path) -> dict[Module, str]:
    """The text of each module without its tests and comments."""
    found: dict[Module, str] = {}
    for path in source.rglob("*.rs"):
        *above, name = path.relative_to(source).with_suffix("").parts
        if above[:1] != ["bin"]:
            module = (*above,) if name in ("mod", "lib", "main") else (*above, name)
            found[module] = re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]")[0])
    return found


def named_paths(module: Module, text: str) -> Iterator[list[str]]:
    """What a module names by a path, from the root of its crate."""
    for match in _PATH.finditer(text):
        paths: list[list[str]] = [[]]
        for part in _PART.finditer(match[2]):
            names = [part[1]] if part[1] else [one.strip().split("::")[0] for one in part[2].split(",") if one.strip()]
            paths = [[*path, name] for path in paths for name in names]
        for path in paths:
            up = sum(1 for _ in takewhile(lambda name: name == "super", path))
            within = module if match[1] == "self" else module[:-1]
            base = [] if match[1] == "crate" else list(within[: len(within) - up])
            yield [*base, *path[up:]]


def imports(modules: dict[Module, str], module: Module) -> set[Module]:
    """The modules of which this one names something, but for itself and those that it lies in."""
    found: set[Module] = set()
    for path in named_paths(module, modules[module]):
        whole = next((tuple(path[:n]) for n in range(len(path), 0, -1) if tuple(path[:n]) in modules), None)
        if whole is not None and module[: len(whole)] != whole:
            found.add(whole)
    return found


@pytest.mark.parametrize("source", sorted(CRATES.glob("*/src")), ids=lambda path: path.parent.name)
def test_modules_do_not_import_each_other_in_a_circle(source: Path) -> None:
    modules = modules_of(source)
    assert modules
    try:
        TopologicalSorter({module: imports(modules, module) for module in modules}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join("/".join(module) for module in error.args[1]))


def test_a_circle_is_seen() -> None:
    modules = {("a",): "use super::b::B;", ("b",): "use crate::{c, d};", ("c",): "fn c() { crate::a::f() }", ("d",): ""}
    graph = {module: imports(modules, module) for module in modules}
    assert graph[("b",)] == {("c",), ("d",)}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
