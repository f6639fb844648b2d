"""The machine that a server runs on, as its kernel shows it. Bytes and seconds; None is what could not be read."""

from __future__ import annotations

from pgclinic.model.record import Record


class HostProcess(Record):
    """A process of the server. ``memory_bytes`` is what it has for itself (RssAnon), ``cpu_share`` of one processor."""

    pid: int
    kind: str
    cpu_share: float | None
    memory_bytes: int | None
    niceness: int | None = None
    oom_score_adj: int | None = None


class HostFilesystem(Record):
    """A file system the server writes to; ``kind`` such as ext4.

    ``holds`` are what of the server it has, with commas: data, WAL, tablespaces, log. ``bytes_free`` and
    ``inodes_free`` are those that a process without privileges may still use.
    """

    holds: str
    path: str
    kind: str
    bytes: int
    bytes_free: int
    inodes_free: int | None
    options: tuple[str, ...]


class HostState(Record):
    """``observed_s`` is how long shares were watched; what needs that is None without it.

    Shares of CPU are of all processors. ``pressure`` are shares of the time in which some process waited, by resource
    (cpu, memory, io), and in which all did (memory_full, io_full): of the time watched, without that of the last 10 s.
    Of a control group the narrowest limits on the way up; ``group_throttled_share`` is the share of its periods in
    which it had used up its CPU, ``group_memory_used_bytes`` without the cache that the kernel may take back.
    ``oom_kills`` and ``group_oom_kills`` count processes that the kernel killed since boot, for want of memory.
    Stalls are processes that had to free memory (reclaim) or to move it (compaction) before they got any.
    ``clock_share`` is the clock of the processors against their highest.
    """

    observed_s: float
    processors: int
    memory_bytes: int
    memory_available_bytes: int
    swap_bytes: int
    swap_free_bytes: int
    swapped_pages_per_s: float | None
    page_table_bytes: int | None
    cpu_idle_share: float | None
    cpu_stolen_share: float | None
    cpu_iowait_share: float | None
    load_1m: float
    overcommit: int | None
    overcommit_ratio: int | None
    huge_pages: int | None
    huge_pages_free: int | None
    huge_page_bytes: int | None
    transparent_huge_pages: str | None
    dirty_background_ratio: int | None
    dirty_ratio: int | None
    dirty_background_bytes: int | None
    swappiness: int | None
    zone_reclaim: int | None
    clock_source: str | None
    governor: str | None
    autogroup: bool | None
    group_processors: float | None
    group_memory_bytes: int | None
    group_throttled_share: float | None
    pressure: dict[str, float] = {}
    processes: tuple[HostProcess, ...] = ()
    filesystems: tuple[HostFilesystem, ...] = ()
    kernel: str = ""
    server_cpu_share: float | None = None
    server_page_table_bytes: int | None = None
    group_memory_used_bytes: int | None = None
    group_oom_kills: int | None = None
    oom_kills: int | None = None
    committed_bytes: int | None = None
    commit_limit_bytes: int | None = None
    reclaim_stalls_per_s: float | None = None
    compaction_stalls_per_s: float | None = None
    clock_sources: tuple[str, ...] = ()
    governor_driver: str | None = None
    clock_share: float | None = None
