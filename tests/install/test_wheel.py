"""pgclinic installed as a user does, from an index on this machine, into an empty home, without Rust."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for
from fixtures.tool import tool
from fixtures.tree import ROOT
from install.conftest import PATH, PYTHON, EmptyHome, LocalIndex
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.dsn import dsn_of

pytestmark = pytest.mark.timeout(3600)

WHEEL_BYTES_MAX = 15_000_000
BIN = Path(sys.executable).parent


@pytest.fixture
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"shared_preload_libraries": "pg_stat_statements"}) as server:
        yield server


def commit_of_checkout() -> str:
    described = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    return subprocess.run(described, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def check_program(home: EmptyHome, command: list[str | Path], running: RunningServer) -> None:
    """The installed command examines a server, and knows what it was built from."""
    facts = json.loads(home.run(*command, "--version", "--json"))
    assert facts["commit"] == commit_of_checkout()
    assert facts["engine"]["profile"] == "release"
    answer = json.loads(home.run(*command, "checkup", dsn_of(running.server), "--observe", "0", "--json"))
    assert answer["checkup"]["database"] == "postgres"
    assert list((home.folder / "runs").glob("*/report.html"))


def test_there_is_no_rust_where_these_tests_install() -> None:
    assert shutil.which("cargo", path=PATH) is None
    assert shutil.which("maturin", path=PATH) is None


def test_a_wheel_is_small_and_has_program_pages_and_completions(local_index: LocalIndex) -> None:
    assert local_index.wheel.stat().st_size < WHEEL_BYTES_MAX
    with zipfile.ZipFile(local_index.wheel) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(wheel.read(metadata).decode())
    data = {name.partition(".data/")[2] for name in names}
    assert "scripts/pgclinic-load" in data
    assert {f"data/{path}" for path in tool("write-command-files").command_files()} <= data
    assert [name for name in names if "cp311-abi3" in name or name.endswith("_load.abi3.so")]
    assert "cp311-abi3" in local_index.wheel.name
    assert about["Requires-Python"] == ">=3.11"
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(
        about.get_all("Classifier")
    )
    assert not [name for name in names if name.endswith((".rs", ".pyc")) or name.startswith("tests/")]


def test_a_source_distribution_has_all_that_a_wheel_is_made_of(local_index: LocalIndex) -> None:
    with tarfile.open(local_index.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        recorded = next(name for name in archive.getnames() if name.endswith("python/pgclinic/commit.txt"))
        commit = archive.extractfile(recorded)
        assert commit is not None
        assert commit.read().decode().strip() == commit_of_checkout()
    assert {f"pgclinic.data/data/{path}" for path in tool("write-command-files").command_files()} <= names
    assert {"Cargo.lock", "tools/wheel_backend.py", "crates/load/src/lib.rs", "LICENSE", "THIRD-PARTY.txt"} <= names


def test_a_build_leaves_nothing_in_the_checkout(local_index: LocalIndex) -> None:
    assert not (ROOT / "pgclinic.data").exists()
    assert not (ROOT / "python" / "pgclinic" / "commit.txt").exists()


def test_pip_installs_it(pip_home: EmptyHome, running: RunningServer) -> None:
    place = pip_home.folder / "installed"
    check_program(pip_home, [place / "bin" / "pgclinic"], running)
    assert "(release)" in pip_home.run(place / "bin" / "pgclinic-load", "--version")
    files = tool("write-command-files").command_files()
    assert {path: (place / path).read_text(encoding="utf-8") for path in files} == files


def test_uvx_runs_it(empty_home: EmptyHome, running: RunningServer) -> None:
    check_program(empty_home, [BIN / "uvx", "--quiet", "pgclinic"], running)


def test_pipx_installs_it(empty_home: EmptyHome, running: RunningServer) -> None:
    """With its man pages where man finds them."""
    empty_home.run(sys.executable, "-m", "pipx", "install", "--quiet", "pgclinic")
    local = empty_home.folder / ".local"
    check_program(empty_home, [local / "bin" / "pgclinic"], running)
    assert "(release)" in empty_home.run(local / "bin" / "pgclinic-load", "--version")
    assert (local / "share" / "man" / "man1" / "pgclinic-checkup.1").is_file()


@pytest.mark.drawn(0.1)
def test_pip_builds_it_from_the_source_distribution(empty_home: EmptyHome, local_index: LocalIndex) -> None:
    """With Rust, where there is no wheel. What the compiler would spend on speed is left out."""
    tools = empty_home.folder / "tools"
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*download, "-d", tools, f"maturin=={version('maturin')}"], check=True)
    cargo = shutil.which("cargo")
    assert cargo is not None
    empty_home.run(PYTHON, "-m", "venv", "--without-pip", "built")
    place = empty_home.folder / "built" / "bin"
    rust = {
        "PATH": f"{Path(cargo).parent}:{PATH}",
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "PIP_FIND_LINKS": str(tools),
    }
    pip = [sys.executable, "-m", "pip", "--python", place / "python", "install", "--quiet"]
    empty_home.run(*pip, local_index.sdist, timeout_s=3000, variables=rust)
    facts = json.loads(empty_home.run(place / "pgclinic", "--version", "--json"))
    assert facts["commit"] == commit_of_checkout()
    assert "(release)" in empty_home.run(place / "pgclinic-load", "--version")
    assert (empty_home.folder / "built" / "share" / "man" / "man1" / "pgclinic-checkup.1").is_file()


@pytest.mark.drawn(0.2)
def test_the_installed_command_proves_the_cure_of_the_demo(pip_home: EmptyHome) -> None:
    """From ``pip install`` to the proof on a twin, in a home where no server was ever run."""
    python = pip_home.folder / "installed" / "bin" / "python"
    printed = " ".join(pip_home.run(python, ROOT / "tools" / "demo-checkup").split())
    assert "create index concurrently orders_customer_id" in printed
    assert "proven on twin of postgres" in printed
