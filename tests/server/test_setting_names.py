"""A setting decides the same however its name is written: an arm that this machine cannot hold is not started."""

from __future__ import annotations

import pytest

from fixtures.command import Command


@pytest.mark.parametrize("name", ["shared_buffers", "Shared_Buffers"])
def test_an_arm_with_more_buffers_than_memory_is_left_out(command: Command, name: str) -> None:
    done = command.run(
        "compare", "--a", "set:work_mem=4MB", "--b", f"set:{name}=7TB", "--script", "builtin:select-only"
    )
    assert done.returncode == 1, done.stderr
    assert "shared_buffers = 7TB" in done.stderr
    assert not command.runs.exists()
