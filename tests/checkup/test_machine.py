"""Illnesses of the machine: real servers, on a machine whose figures are made, as tests cannot make it ill.

Each case has the real machine's record with the figures of a healthy one, of which an illness changes a few. How the
figures are read is tested on the machine itself, and
on files as kernels write them (tests/unit/observe/test_host_files.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.patient import Illness, Patient, check_illness, illness_cases, patient
from pgclinic.model.finding import Finding
from pgclinic.model.host import HostFilesystem, HostProcess, HostState
from pgclinic.observe.host import watch_host

GB = 1 << 30
DISK = HostFilesystem(
    holds="data, WAL",
    path="/data",
    kind="ext4",
    bytes=1000 * GB,
    bytes_free=500 * GB,
    inodes_free=10_000_000,
    options=("rw",),
)


def healthy(here: Patient) -> HostState:
    """The machine of the tests, with eight processors half idle, and no want of anything."""
    host = watch_host(here.postmaster)
    assert host is not None
    return replace(
        host,
        observed_s=5.0,
        processors=8,
        memory_bytes=8 * GB,
        memory_available_bytes=5 * GB,
        swapped_pages_per_s=0.0,
        page_table_bytes=20 << 20,
        server_page_table_bytes=10 << 20,
        cpu_idle_share=0.5,
        cpu_stolen_share=0.0,
        cpu_iowait_share=0.02,
        server_cpu_share=0.4,
        load_1m=4.0,
        overcommit=0,
        oom_kills=0,
        transparent_huge_pages="madvise",
        compaction_stalls_per_s=0.0,
        clock_source="tsc",
        clock_sources=("tsc", "hpet"),
        governor="performance",
        governor_driver="acpi-cpufreq",
        clock_share=0.95,
        group_processors=None,
        group_memory_bytes=None,
        group_memory_used_bytes=None,
        group_oom_kills=None,
        group_throttled_share=None,
        pressure={"cpu": 0.1, "memory": 0.0, "io": 0.05, "memory_full": 0.0, "io_full": 0.02},
        filesystems=(DISK,),
    )


def with_host(**changes: Any) -> Callable[[Patient], None]:
    def look(here: Patient) -> None:
        here.host = replace(healthy(here), **changes)

    return look


def be_healthy(sick: Patient, _: Finding) -> None:
    sick.host = healthy(sick)


def machine(pathology: str, sick: dict[str, Any], near: dict[str, Any], *names: str, **more: Any) -> Illness:
    return Illness(
        pathology=pathology,
        sicken=with_host(**sick),
        near_miss=with_host(**near),
        treat=be_healthy,
        names=names,
        **more,
    )


def disk(**changes: Any) -> dict[str, Any]:
    return {"filesystems": (replace(DISK, **changes),)}


ILLNESSES = (
    machine(
        "cpu-saturated",
        {"cpu_idle_share": 0.01, "pressure": {"cpu": 0.8}, "server_cpu_share": 0.9},
        {"cpu_idle_share": 0.01, "pressure": {"cpu": 0.2}, "server_cpu_share": 0.9},
        "processors 8",
    ),
    machine("cpu-stolen", {"cpu_stolen_share": 0.2}, {"cpu_stolen_share": 0.03}, "stolen 0.2"),
    machine(
        "memory-pressure",
        {"swapped_pages_per_s": 2_000.0, "memory_available_bytes": GB},
        {"swapped_pages_per_s": 20.0, "memory_available_bytes": GB},
        "pages swapped a second",
    ),
    machine(
        "transparent-huge-pages",
        {"transparent_huge_pages": "always", "compaction_stalls_per_s": 40.0},
        {"transparent_huge_pages": "always"},
        "enabled always",
    ),
    machine(
        "overcommit-risk",
        {"memory_available_bytes": GB // 2, "processes": ()},
        {
            "memory_available_bytes": GB // 2,
            "processes": (
                HostProcess(pid=1, kind="postmaster", cpu_share=None, memory_bytes=None, oom_score_adj=-1000),
            ),
        },
        "vm.overcommit_memory",
    ),
    machine("disk-nearly-full", disk(bytes_free=GB), disk(bytes_free=200 * GB), "/data", "file system of data, WAL"),
    machine(
        "io-pressure",
        {"pressure": {"io": 0.9, "io_full": 0.6}},
        {"pressure": {"io": 0.9, "io_full": 0.1}},
        "all processes wait for io",
    ),
    machine(
        "group-throttled",
        {"group_processors": 2.0, "group_throttled_share": 0.6},
        {"group_processors": 2.0, "group_throttled_share": 0.01},
        "processors of the group 2.0",
    ),
    machine(
        "group-memory-near-limit",
        {"group_memory_bytes": 2 * GB, "group_memory_used_bytes": 1_900 << 20},
        {"group_memory_bytes": 2 * GB, "group_memory_used_bytes": 1_500 << 20},
        "control group",
    ),
    machine(
        "clock-source-slow",
        {"clock_source": "hpet"},
        {"clock_source": "kvm-clock"},
        "in use hpet",
        "value on",
        settings={"track_io_timing": "on"},
    ),
    machine(
        "cpu-governor",
        {"governor": "powersave", "cpu_idle_share": 0.2, "clock_share": 0.4},
        {"governor": "powersave", "governor_driver": "intel_pstate", "cpu_idle_share": 0.2},
        "governor powersave",
    ),
    machine(
        "page-tables-large",
        {"server_page_table_bytes": GB},
        {"server_page_table_bytes": 100 << 20},
        "page tables",
        "huge_pages",
    ),
    machine(
        "zone-reclaim-on",
        {"zone_reclaim": 1, "reclaim_stalls_per_s": 50.0},
        {"zone_reclaim": 0, "reclaim_stalls_per_s": 50.0},
        "vm.zone_reclaim_mode",
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)


def test_the_machine_of_a_server_is_read() -> None:
    with patient("18", {}) as here:
        idle = here.session(name="idle")
        host = watch_host(here.postmaster, 0.3)
        assert host is not None
        assert host.observed_s >= 0.3
        assert host.processors == os.cpu_count()
        assert host.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert 0 < host.memory_available_bytes < host.memory_bytes
        assert host.cpu_idle_share is not None
        assert 0.0 <= host.cpu_idle_share <= 1.0
        kinds = {process.pid: process.kind for process in host.processes}
        assert kinds[idle.backend_pid] == "client backend"
        assert {"postmaster", "checkpointer", "walwriter"} <= set(kinds.values())
        assert host.server_page_table_bytes
        data = next(filesystem for filesystem in host.filesystems if "data" in filesystem.holds)
        usage = shutil.disk_usage(here.data)
        assert data.bytes == usage.total
        assert data.kind
        assert data.path == str(here.data.resolve())
        assert "WAL" in data.holds
        assert Path(f"/proc/{idle.backend_pid}").exists()


def test_without_time_there_are_no_shares() -> None:
    with patient("18", {}) as here:
        host = watch_host(here.postmaster)
    assert host is not None
    assert host.cpu_idle_share is None
    assert host.swapped_pages_per_s is None
    assert all(process.cpu_share is None for process in host.processes)


def test_a_server_that_is_gone_has_no_machine() -> None:
    with patient("18", {}) as here:
        pid = here.postmaster
    assert watch_host(pid) is None
