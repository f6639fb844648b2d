"""Fixtures that more than one kind of test needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.command import Command
from fixtures.lab_home import MAJORS, binaries_for, temporary_home
from pgclinic.lab.binaries import Binaries


@pytest.fixture
def fresh_home() -> Iterator[Path]:
    """A lab home in which nothing was ever made, except that versions need no download."""
    with temporary_home() as home:
        yield home


@pytest.fixture(params=MAJORS)
def every_binaries(request: pytest.FixtureRequest) -> Binaries:
    """Programs of every branch that the lab promises to run everywhere, one after the other."""
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
