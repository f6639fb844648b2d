"""CPU seconds of a process and its children, and of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgclinic.errors import ServerLostError
from pgclinic.observe import processes
from pgclinic.observe.cpu import CpuMeter
from pgclinic.observe.processes import cpu_pressure, cpu_seconds, kernel_threads_s, machine_cpu, waited_us

# One burns in a child that ends, one in a child that stays until its input ends; the parent burns nothing.
BURN = """
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
if os.fork() == 0:
    burn(0.3); os._exit(0)
os.wait()
if os.fork() == 0:
    burn(0.3); print("done", flush=True); sys.stdin.read(); os._exit(0)
sys.stdin.read()
"""


def test_living_and_reaped_children_count() -> None:
    process = subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    seconds = cpu_seconds(process.pid)
    process.communicate()
    assert 0.58 <= seconds < 1.5


def test_a_child_that_is_reaped_while_we_look_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the parent and the look at its children, one that took 3 s ends and is waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    reaped = 0
    own = [0] * 11 + [ticks, 0]

    def stat(pid: int) -> list[int]:
        return [*own, reaped, 0]

    def children(pid: int) -> list[int]:
        nonlocal reaped
        reaped = 3 * ticks
        return []

    monkeypatch.setattr(processes, "_stat", stat)
    monkeypatch.setattr(processes, "_children", children)
    assert cpu_seconds(1) == 4.0


def test_a_server_that_is_gone_is_an_error() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(ServerLostError):
        cpu_seconds(process.pid)


def test_the_machine_counts_on() -> None:
    before, pressure = machine_cpu(), cpu_pressure()
    sum(range(5_000_000))
    after = machine_cpu()
    assert after.busy_s > before.busy_s > 0
    assert after.idle_s >= before.idle_s
    later = cpu_pressure()
    assert (pressure is None) == (later is None)
    if pressure is not None and later is not None:
        assert later.some_us >= pressure.some_us


def test_the_kernels_own_threads_are_nobody_elses_programs() -> None:
    before = kernel_threads_s()
    assert 0.0 <= before <= kernel_threads_s()
    if Path("/proc/2/comm").is_file() and Path("/proc/2/comm").read_text().strip() == "kthreadd":
        assert before < machine_cpu().busy_s
    meter = CpuMeter(None)
    meter.start()
    sum(range(500_000))
    use = meter.stop()
    assert use.kernel_s >= 0.0
    assert use.others_s + use.kernel_s + use.client_s <= use.elapsed_s * use.cores + 1.0


def test_waiting_for_memory_and_io_and_swapping_are_sampled() -> None:
    meter = CpuMeter(None)
    meter.start()
    sum(range(500_000))
    use = meter.stop()
    assert (use.memory_pressure_share is None) == (waited_us("memory") is None)
    assert use.io_pressure_share is None or 0.0 <= use.io_pressure_share <= 1.0
    assert use.swapped_bytes is None or use.swapped_bytes >= 0
    assert waited_us("no such resource") is None
