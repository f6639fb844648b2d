"""Fixtures that more than one kind of test needs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fixtures.command import Command
from fixtures.dealt import dealt
from fixtures.dispositions import let_programs_have_signals
from fixtures.drawn import drawn_majors, is_drawn
from fixtures.lab_home import MAJORS, binaries_for, temporary_home, worker_home
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.home import HOME_VARIABLE

# Fresh examples everywhere, also where CI is set, for which hypothesis would repeat the same ones. A failing example is
# printed as a line that replays it; --hypothesis-seed repeats a whole run. Examples have no deadline on a busy machine.
settings.register_profile("fresh", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fresh")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--snapshot-update", action="store_true", help="write tests/snapshots/texts instead of comparing")


def pytest_configure() -> None:
    """Workers that run beside each other have homes of their own: in one, trials wait for each other."""
    let_programs_have_signals()
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        os.environ[HOME_VARIABLE] = str(worker_home(worker))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of ``drawn`` tests that this run has not drawn, and deal the others to the workers."""
    left_out = [
        item for item in items if (mark := item.get_closest_marker("drawn")) and not is_drawn(item.nodeid, *mark.args)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = dealt(items, workers)


def pytest_report_header() -> str:
    seed = os.environ["PGCLINIC_TEST_SEED"]
    return f"majors and illnesses are drawn (PGCLINIC_TEST_ALL=1: all): PGCLINIC_TEST_SEED={seed}"


@pytest.fixture
def fresh_home() -> Iterator[Path]:
    """A lab home in which nothing was ever made, except that versions need no download."""
    with temporary_home() as home:
        yield home


@pytest.fixture(params=[MAJORS[0], *drawn_majors("server", MAJORS[1:])])
def every_binaries(request: pytest.FixtureRequest) -> Binaries:
    """Programs of the embedded branch and of one other that the lab promises to run everywhere, drawn for each run."""
    return binaries_for(request.param)


@pytest.fixture
def binaries() -> Binaries:
    """The embedded programs."""
    return binaries_for("18")


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """``pgclinic`` run as a user runs it, in a folder of its own."""
    made = Command(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        # Also closes the pipes.
        process.communicate(timeout=10)


@pytest.fixture
def small_home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home on a file system of its own, of so many megabytes. Root only: mounting is a privilege."""
    with temporary_home() as home:
        small = home / "small"
        small.mkdir()
        size = f"size={request.param}m,mode=755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(small)], check=True)
        for name in ("clusters", "instances", "templates"):
            (small / name).mkdir()
            (home / name).symlink_to(small / name)
        try:
            yield home
        finally:
            _unmount(small)


def _unmount(path: Path) -> None:
    """What was killed may still be on its way out."""
    limit = time.monotonic() + 10
    while subprocess.run(["umount", str(path)], capture_output=True, check=False).returncode:
        assert time.monotonic() < limit, f"{path} stays busy"
        time.sleep(0.05)
