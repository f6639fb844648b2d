"""What the kernel lets a process do, by its answers and on this machine."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pgclinic.model.doctor import IoUringState
from pgclinic.observe.kernel_rights import io_uring_state, io_uring_state_of, perf_allowed, perf_event_paranoid


@pytest.mark.parametrize(
    ("failed", "disabled", "state"),
    [
        (None, 0, IoUringState.USABLE),
        (None, 1, IoUringState.USABLE),
        (errno.ENOSYS, None, IoUringState.MISSING),
        (errno.EPERM, 2, IoUringState.DISABLED),
        (errno.EPERM, 0, IoUringState.REFUSED),
        (errno.EPERM, None, IoUringState.REFUSED),
    ],
)
def test_an_answer_of_the_kernel_is_a_state(failed: int | None, disabled: int | None, state: IoUringState) -> None:
    assert io_uring_state_of(failed, disabled) is state


def test_trying_leaves_no_descriptor_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert isinstance(io_uring_state(), IoUringState)
    assert perf_allowed() in (True, False)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_level_of_perf_is_that_of_the_kernel() -> None:
    file = Path("/proc/sys/kernel/perf_event_paranoid")
    assert perf_event_paranoid() == (int(file.read_text()) if file.is_file() else None)
