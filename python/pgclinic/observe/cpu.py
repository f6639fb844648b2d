"""Who got the CPU while a load ran: the server, the load engine, the samplers, and everybody else."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.errors import ServerLostError
from pgclinic.model.trial import CpuUse
from pgclinic.observe.processes import (
    CpuPressure,
    MachineCpu,
    cpu_pressure,
    cpu_seconds,
    kernel_threads_s,
    machine_cpu,
    swapped_bytes,
    waited_us,
)
from pgclinic.observe.throttling import first_and_last_third, megahertz, stopped_s
from pgclinic.store.machine import usable_cores


class CpuMeter:
    """``start`` before the load, ``look`` every second, ``stop`` after it.

    ``postmaster_pid`` is None for a server whose processes cannot be seen from here.
    """

    def __init__(self, postmaster_pid: int | None) -> None:
        self._pid = postmaster_pid
        self._beside: Sequence[int] = ()
        self._beside_s: list[float] = []
        self._started_s = 0.0
        self._started_epoch_s = 0.0
        self._machine = machine_cpu()
        self._pressure = cpu_pressure()
        self._waited_us: dict[str, int | None] = {}
        self._swapped: int | None = None
        self._process_s = 0.0
        self._kernel_s = 0.0
        self._server_s: float | None = None
        self._stopped_s: float | None = None
        self._clocks: list[float] = []

    def start(self, beside: Sequence[int] = ()) -> None:
        """Begin, or begin anew. ``beside`` are the postmasters of servers whose CPU is not that of others."""
        self._beside = beside
        self._started_s = time.monotonic()
        self._started_epoch_s = time.time()
        self._process_s = time.process_time()
        self._machine = machine_cpu()
        self._pressure = cpu_pressure()
        self._waited_us = {resource: waited_us(resource) for resource in ("memory", "io")}
        self._swapped = swapped_bytes()
        self._kernel_s = kernel_threads_s()
        self._server_s = _cpu_of(self._pid)
        self._beside_s = [_cpu_of(pid) or 0.0 for pid in self._beside]
        self._stopped_s = stopped_s()
        self._clocks = []

    def look(self) -> None:
        """Note the clock of the cores; call it every second while the load runs: an idle core's clock says nothing."""
        clock = megahertz()
        if clock is not None:
            self._clocks.append(clock)

    def stop(self) -> CpuUse:
        """CPU seconds since ``start``; a server that died in between obtained what it had when last seen: none.

        All of this process is the client's until ``split`` says how much of it was watching.
        """
        elapsed_s = time.monotonic() - self._started_s
        own_s = time.process_time() - self._process_s
        before_s, after_s = self._server_s, _cpu_of(self._pid)
        beside_s = sum(
            max(0.0, (_cpu_of(pid) or 0.0) - before) for pid, before in zip(self._beside, self._beside_s, strict=True)
        )
        server_s = None if before_s is None or after_s is None else max(0.0, after_s - before_s)
        kernel_s = max(0.0, kernel_threads_s() - self._kernel_s)
        taken_s = _taken_s(self._machine, machine_cpu())
        early, late = first_and_last_third(self._clocks) or (None, None)
        stopped, swapped = stopped_s(), swapped_bytes()
        return CpuUse(
            elapsed_s=elapsed_s,
            cores=usable_cores(),
            server_s=server_s,
            client_s=own_s,
            observer_s=0.0,
            others_s=max(0.0, taken_s - own_s - beside_s - (server_s or 0.0) - kernel_s),
            kernel_s=kernel_s,
            pressure_share=_pressed(self._pressure, cpu_pressure(), elapsed_s),
            clock_jump_s=(time.time() - self._started_epoch_s) - (time.monotonic() - self._started_s),
            megahertz_early=early,
            megahertz_late=late,
            stopped_s=stopped - self._stopped_s if stopped is not None and self._stopped_s is not None else None,
            memory_pressure_share=self._waited_share("memory", elapsed_s),
            io_pressure_share=self._waited_share("io", elapsed_s),
            swapped_bytes=swapped - self._swapped if swapped is not None and self._swapped is not None else None,
        )

    def _waited_share(self, resource: str, elapsed_s: float) -> float | None:
        before, after = self._waited_us.get(resource), waited_us(resource)
        if before is None or after is None or elapsed_s <= 0:
            return None
        return min(1.0, (after - before) / 1e6 / elapsed_s)

    @staticmethod
    def split(use: CpuUse, observer_s: float) -> CpuUse:
        """The same with the observers' part taken out of the client's."""
        return replace(use, client_s=max(0.0, use.client_s - observer_s), observer_s=observer_s)


def _cpu_of(postmaster_pid: int | None) -> float | None:
    if postmaster_pid is None:
        return None
    try:
        return cpu_seconds(postmaster_pid)
    except ServerLostError:
        return 0.0


def _taken_s(before: MachineCpu, after: MachineCpu) -> float:
    return (after.busy_s + after.steal_s) - (before.busy_s + before.steal_s)


def _pressed(before: CpuPressure | None, after: CpuPressure | None, elapsed_s: float) -> float | None:
    if before is None or after is None or elapsed_s <= 0:
        return None
    return min(1.0, (after.some_us - before.some_us) / 1e6 / elapsed_s)
