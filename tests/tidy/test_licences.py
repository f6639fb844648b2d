"""Nothing that pgclinic is built from, linked with or depends on is under a licence that would bind its users."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from importlib import metadata
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from fixtures.tree import ROOT

_REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
_NAMED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==", re.MULTILINE)
#: Licences that ask whoever passes a program on to pass its source on under the same terms.
_COPYLEFT = re.compile(
    r"\b[AL]?GPL|General Public|\bMPL|Mozilla|\bEPL|Eclipse|\bCDDL|\bEUPL|\bOSL|\bSSPL|\bCC-BY-SA", re.IGNORECASE
)
#: Under the LGPL or the MPL, which bind changes to the library itself: it is a package of its own that pip installs.
_KNOWN = {"certifi", "hypothesis", "pathspec", "psycopg", "psycopg-binary"}


def packages() -> list[str]:
    found = {name.lower() for path in _REQUIREMENTS for name in _NAMED.findall(path.read_text(encoding="utf-8"))}
    return sorted(found)


def licence_of(name: str) -> str:
    """As the package says it: the expression, or its classifiers, or the first line of the old field."""
    about = metadata.metadata(name)
    classifiers = [one.rpartition("::")[2].strip() for one in about.get_all("Classifier", []) if "License ::" in one]
    old = (about.get("License") or "").strip().partition("\n")[0]
    return about.get("License-Expression") or ", ".join(classifiers) or old


@cache
def crates() -> dict[str, str]:
    # Crates of other systems need not be on this machine.
    about = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = about.partition("host: ")[2].split()[0]
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {f"{one['name']} {one['version']}": one["license"] or "" for one in json.loads(done.stdout)["packages"]}


def binds(licence: str) -> bool:
    """Whether each of the licences to choose from is copyleft; of several that all hold, whether one is."""
    return all(_COPYLEFT.search(choice) for choice in re.split(r"\bOR\b|/", licence.strip("()")))


@pytest.mark.parametrize(
    ("licence", "is_copyleft"),
    [
        ("MIT", False),
        ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", False),
        ("GPL-3.0-only", True),
        ("MIT AND LGPL-3.0-only", True),
        ("GNU Affero General Public License v3", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True),
        ("MIT/Apache-2.0", False),
    ],
)
def test_copyleft_is_told_apart(licence: str, is_copyleft: bool) -> None:
    assert binds(licence) is is_copyleft


def test_no_package_is_copyleft_but_those_that_are_known() -> None:
    installed = {one.metadata["Name"].lower().replace("_", "-") for one in metadata.distributions()}
    seen = [
        name
        for name in packages()
        if name.replace("_", "-").replace(".", "-") in {n.replace(".", "-") for n in installed}
    ]
    assert len(seen) > 20
    assert {name for name in seen if binds(licence_of(name))} == _KNOWN & set(seen)


def test_none_that_pgclinic_needs_is_under_the_gpl() -> None:
    core = _NAMED.findall((ROOT / "requirements/core.txt").read_text(encoding="utf-8"))
    strong = re.compile(r"(?<![L])GPL|(?<!Lesser )General Public")
    assert [name for name in core if strong.search(licence_of(name))] == []


def test_no_crate_is_copyleft() -> None:
    assert len(crates()) > 50
    assert {name: licence for name, licence in crates().items() if not licence or binds(licence)} == {}


def _tool() -> ModuleType:
    loader = SourceFileLoader("write_notices", str(ROOT / "tools/write-notices"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_notices_name_what_the_engine_is_linked_with() -> None:
    """tools/write-notices writes them again."""
    text = (ROOT / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    named = re.findall(r"^(\S+) (\d[^\s:]*): ", text, re.MULTILINE)
    assert named == _tool().linked_crates()
    assert "uPlot: MIT" in text


def test_the_wheel_has_the_notices() -> None:
    assert 'license-files = ["LICENSE", "THIRD-PARTY.txt"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
