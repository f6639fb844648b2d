"""Fixtures that more than one kind of test needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
