"""Who got the CPU while a load ran: the server, the load engine, the samplers, and everybody else."""

from __future__ import annotations

import os
import time

from pgclinic.errors import ServerLostError
from pgclinic.model.load import LoadResult
from pgclinic.model.trial import CpuUse
from pgclinic.observe.processes import CpuPressure, MachineCpu, cpu_pressure, cpu_seconds, machine_cpu


class CpuMeter:
    """``start`` before the load, ``stop`` after it. ``postmaster_pid`` is None for a server that is not ours.

    The CPU of such a server, if it is on this machine, then counts among the others'.
    """

    def __init__(self, postmaster_pid: int | None) -> None:
        self._pid = postmaster_pid
        self._started_s = 0.0
        self._started_epoch_s = 0.0
        self._machine = machine_cpu()
        self._pressure = cpu_pressure()
        self._process_s = 0.0
        self._server_s = 0.0

    def start(self) -> None:
        self._started_s = time.monotonic()
        self._started_epoch_s = time.time()
        self._process_s = time.process_time()
        self._machine = machine_cpu()
        self._pressure = cpu_pressure()
        self._server_s = self._server()

    def stop(self, load: LoadResult) -> CpuUse:
        """CPU seconds since ``start``; a server that died in between obtained what it had when last seen: none."""
        elapsed_s = time.monotonic() - self._started_s
        own_s = time.process_time() - self._process_s
        server_s = max(0.0, self._server() - self._server_s)
        client_s = min(own_s, load.client_cpu_user_s + load.client_cpu_system_s)
        return CpuUse(
            elapsed_s=elapsed_s,
            cores=len(os.sched_getaffinity(0)),
            server_s=server_s,
            client_s=client_s,
            observer_s=max(0.0, own_s - client_s),
            others_s=max(0.0, _taken_s(self._machine, machine_cpu()) - own_s - server_s),
            pressure_share=_pressed(self._pressure, cpu_pressure(), elapsed_s),
            clock_jump_s=(time.time() - self._started_epoch_s) - (time.monotonic() - self._started_s),
        )

    def _server(self) -> float:
        if self._pid is None:
            return 0.0
        try:
            return cpu_seconds(self._pid)
        except ServerLostError:
            return 0.0


def _taken_s(before: MachineCpu, after: MachineCpu) -> float:
    return (after.busy_s + after.steal_s) - (before.busy_s + before.steal_s)


def _pressed(before: CpuPressure | None, after: CpuPressure | None, elapsed_s: float) -> float | None:
    if before is None or after is None or elapsed_s <= 0:
        return None
    return min(1.0, (after.some_us - before.some_us) / 1e6 / elapsed_s)
