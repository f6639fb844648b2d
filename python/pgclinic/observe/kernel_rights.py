"""What the kernel lets this process do: io_uring, and the counters of perf."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from pathlib import Path

from pgclinic.model.doctor import IoUringState
from pgclinic.observe.host_files import first_line, whole

_KERNEL = Path("/proc/sys/kernel")
# The number of io_uring_setup is the same on all architectures, that of perf_event_open is not.
_IO_URING_SETUP = 425
_IO_URING_PARAMETERS_BYTES = 120
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_PERF_ATTRIBUTE_BYTES = 120
_PERF_TYPE_SOFTWARE, _PERF_COUNT_SW_TASK_CLOCK = 1, 1
#: Bits of the attribute: without the kernel and the hypervisor, as any user may ask for with paranoid 2.
_EXCLUDE_KERNEL_AND_HYPERVISOR = (1 << 5) | (1 << 6)


def io_uring_state() -> IoUringState:
    """Whether an io_uring can be made: one of four entries is, and closed."""
    parameters = ctypes.create_string_buffer(_IO_URING_PARAMETERS_BYTES)
    failed = _opened(_IO_URING_SETUP, 4, ctypes.byref(parameters))
    return io_uring_state_of(failed, whole(first_line(_KERNEL / "io_uring_disabled")))


def io_uring_state_of(failed: int | None, disabled: int | None) -> IoUringState:
    """``failed`` is the errno of io_uring_setup, None where it worked; ``disabled`` is kernel.io_uring_disabled."""
    if failed is None:
        return IoUringState.USABLE
    if failed == errno.ENOSYS:
        return IoUringState.MISSING
    return IoUringState.DISABLED if disabled else IoUringState.REFUSED


def perf_event_paranoid() -> int | None:
    """None where the kernel has no perf."""
    return whole(first_line(_KERNEL / "perf_event_paranoid"))


def perf_allowed() -> bool:
    """Whether this user may count events of own processes."""
    number = _PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return False
    attribute = struct.pack(
        "<IIQQQQQ",
        _PERF_TYPE_SOFTWARE,
        _PERF_ATTRIBUTE_BYTES,
        _PERF_COUNT_SW_TASK_CLOCK,
        0,
        0,
        0,
        _EXCLUDE_KERNEL_AND_HYPERVISOR,
    )
    whole_attribute = ctypes.create_string_buffer(attribute, _PERF_ATTRIBUTE_BYTES)
    return _opened(number, ctypes.byref(whole_attribute), 0, -1, -1, 0) is None


def _opened(number: int, *arguments: object) -> int | None:
    """The errno of a system call that opens a descriptor, None where it did; the descriptor is closed."""
    if sys.platform != "linux":
        # The numbers stand for other calls there.
        return errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, *arguments)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return None
