"""Commands run as a user runs them, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.command import Command


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    made = Command(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        # Also closes the pipes.
        process.communicate(timeout=10)
