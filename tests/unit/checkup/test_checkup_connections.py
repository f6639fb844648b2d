"""Detectors of connections, replication and the machine on changed snapshots: how bad it is, and since when."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import client, healthy_snapshot, with_major, with_sessions
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.detect import detect
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import Finding, Health, Severity
from pgclinic.model.host import HostFilesystem, HostProcess, HostState
from pgclinic.model.snapshot import SessionState, SlotState, Snapshot, StandbyState
from pgclinic.model.snapshot_counters import Counters, StatementsInfo, WalCounters

GB = 1 << 30
SLOT = SlotState(
    name="away",
    kind="physical",
    plugin=None,
    database=None,
    active=False,
    active_pid=None,
    temporary=False,
    wal_status="extended",
    xmin_age=None,
    catalog_xmin_age=None,
    wal_kept_bytes=2 * GB,
    wal_left_bytes=None,
    conflicting=None,
    inactive_s=None,
    invalidation_reason=None,
)
STANDBY = StandbyState(
    pid=7,
    user="replicator",
    application="north",
    client="local",
    state="streaming",
    sync_state="async",
    xmin_age=None,
    unsent_bytes=0,
    unflushed_bytes=0,
    unreplayed_bytes=0,
    write_lag_s=None,
    flush_lag_s=None,
    replay_lag_s=None,
)


def host(**changes: Any) -> HostState:
    made: dict[str, Any] = dict.fromkeys(HostState.__struct_fields__)
    made |= {
        "observed_s": 5.0,
        "processors": 4,
        "memory_bytes": 16 * GB,
        "memory_available_bytes": 8 * GB,
        "swap_bytes": 0,
        "swap_free_bytes": 0,
        "load_1m": 1.0,
        "pressure": {},
        "processes": (),
        "filesystems": (),
        "kernel": "",
        "clock_sources": (),
    }
    return HostState(**(made | changes))


def seen(pathology: str, snapshot: Snapshot, machine: HostState | None = None) -> list[Finding]:
    findings, unchecked = detect(Case(snapshot, host=machine), [catalog()[pathology]])
    assert not unchecked
    return list(findings)


def severities(pathology: str, snapshot: Snapshot, machine: HostState | None = None) -> list[Severity]:
    return [one.severity for one in seen(pathology, snapshot, machine)]


def idle(count: int, **changes: Any) -> tuple[SessionState, ...]:
    return tuple(client(pid, state="idle", state_s=60.0, **changes) for pid in range(1, count + 1))


def with_counters(**changes: Any) -> Snapshot:
    taken = healthy_snapshot()
    return replace(taken, counters=replace(taken.counters, **changes))


def databases(sessions: int, now: int, commits: int) -> Any:
    """Those of the healthy server, of which the one that was looked at has these counters."""
    taken = healthy_snapshot()
    return tuple(
        replace(database, sessions=sessions, sessions_now=now, commits=commits, rollbacks=0)
        if database.name == taken.server.database
        else database
        for database in taken.counters.databases
    )


def observed(before: Any, after: Any, seconds: float = 5.0) -> Snapshot:
    taken = healthy_snapshot()
    now = replace(taken.counters, databases=after)
    earlier = Counters(at_epoch_s=now.at_epoch_s - seconds, databases=before)
    return replace(taken, counters=now, counters_before=earlier)


# Connections


@pytest.mark.parametrize(("count", "expected"), [(87, []), (90, [Severity.WARNING]), (97, [Severity.CRITICAL])])
def test_places_are_those_of_ordinary_roles(count: int, expected: list[Severity]) -> None:
    """100 connections, of which three are reserved for superusers."""
    assert severities("connections-near-limit", with_sessions(*idle(count))) == expected


def test_background_processes_that_are_hidden_take_no_place() -> None:
    hidden = tuple(client(pid, state=None, backend_type=None, database=None) for pid in range(100, 120))
    assert severities("connections-near-limit", with_sessions(*idle(80), *hidden)) == []


def test_idle_connections_are_a_warning_where_snapshots_pay_for_them() -> None:
    crowd = with_sessions(*idle(600))
    assert severities("idle-connections", crowd) == [Severity.NOTICE]
    assert severities("idle-connections", with_major(crowd, 13)) == [Severity.WARNING]


def test_memory_of_idle_connections_is_what_the_kernel_counts() -> None:
    processes = tuple(
        HostProcess(pid=pid, kind="client backend", cpu_share=0.0, memory_bytes=20 << 20) for pid in range(1, 121)
    )
    (finding,) = seen("idle-connections", with_sessions(*idle(120)), host(processes=processes))
    assert finding.cost is not None
    assert finding.cost.value == 120 * (20 << 20)
    assert finding.severity is Severity.WARNING


def test_a_pool_that_is_used_is_not_idle() -> None:
    pool = tuple(client(pid, state="idle", state_s=0.1) for pid in range(1, 200))
    assert severities("idle-connections", with_sessions(*pool)) == []


def test_new_connections_are_those_of_the_observation() -> None:
    storm = observed(databases(1_000, 10, 10_000), databases(1_100, 10, 10_150))
    assert severities("connection-per-transaction", storm) == [Severity.WARNING]
    slow = observed(databases(1_000, 10, 10_000), databases(1_100, 10, 10_150), seconds=60.0)
    assert severities("connection-per-transaction", slow) == [Severity.NOTICE]


def test_a_pool_that_fills_and_a_storm_that_is_over_are_none() -> None:
    fills = observed(databases(1_000, 10, 10_000), databases(1_100, 110, 10_150))
    assert severities("connection-per-transaction", fills) == []
    over = observed(databases(1_000, 10, 1_000), databases(1_000, 10, 1_000))
    assert severities("connection-per-transaction", over) == []


def test_statements_forgotten_long_ago_are_a_notice() -> None:
    taken = with_counters(statements_info=(StatementsInfo(evictions=500, reset_epoch_s=1.0),))
    server = replace(taken.server, started_epoch_s=taken.server.clock_epoch_s - 86_400 * 30)
    taken = replace(taken, server=server)
    assert severities("statement-statistics-evicted", taken) == [Severity.NOTICE]
    earlier = Counters(
        at_epoch_s=taken.counters.at_epoch_s - 5.0,
        statements_info=(StatementsInfo(evictions=490, reset_epoch_s=1.0),),
    )
    watched = replace(taken, counters_before=earlier)
    assert severities("statement-statistics-evicted", watched) == [Severity.WARNING]


# Replication


def with_slot(**changes: Any) -> Snapshot:
    return replace(healthy_snapshot(), slots=(replace(SLOT, **changes),))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"wal_kept_bytes": GB // 2}, []),
        ({}, [Severity.WARNING]),
        ({"temporary": True}, []),
        ({"wal_status": "unreserved"}, [Severity.CRITICAL]),
        ({"wal_left_bytes": GB // 10}, [Severity.CRITICAL]),
        ({"wal_left_bytes": GB}, [Severity.WARNING]),
        ({"wal_status": "lost"}, []),
    ],
)
def test_a_slot_is_ill_beyond_max_wal_size_and_dies_near_its_limit(
    changes: dict[str, Any], expected: list[Severity]
) -> None:
    assert severities("slot-keeps-wal", with_slot(**changes)) == expected


@pytest.mark.parametrize(("free", "expected"), [(100 * GB, Severity.WARNING), (GB, Severity.CRITICAL)])
def test_a_slot_that_fills_the_disk_within_a_day_is_critical(free: int, expected: Severity) -> None:
    """1 MB of WAL a second is 86 GB a day."""
    disk = HostFilesystem(
        holds="data, WAL", path="/", kind="ext4", bytes=1000 * GB, bytes_free=free, inodes_free=None, options=()
    )
    taken = with_slot()
    now = taken.counters.wal[0]
    before = Counters(at_epoch_s=taken.counters.at_epoch_s - 10.0, wal=(replace(now, bytes=0),))
    taken = replace(
        taken, counters=replace(taken.counters, wal=(replace(now, bytes=10_000_000),)), counters_before=before
    )
    assert isinstance(now, WalCounters)
    assert severities("slot-keeps-wal", taken, host(filesystems=(disk,))) == [expected]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"unreplayed_bytes": GB // 2}, 0),
        ({"unreplayed_bytes": 2 * GB}, 1),
        ({"replay_lag_s": 90.0}, 1),
        ({"unreplayed_bytes": 2 * GB, "state": "backup"}, 0),
    ],
)
def test_a_standby_is_late_by_bytes_or_by_time(changes: dict[str, Any], expected: int) -> None:
    taken = replace(healthy_snapshot(), standbys=(replace(STANDBY, **changes),))
    assert len(seen("standby-lags", taken)) == expected


def test_commits_wait_for_a_synchronous_standby() -> None:
    taken = replace(healthy_snapshot(), standbys=(replace(STANDBY, unsent_bytes=2 * GB, sync_state="sync"),))
    (finding,) = seen("standby-lags", taken)
    assert finding.claim is not None
    assert "network" in finding.treatments[0].title


# The machine


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"oom_kills": 3}, [Severity.NOTICE]),
        ({"oom_kills": 3, "group_oom_kills": 1}, [Severity.WARNING]),
        ({"memory_available_bytes": GB}, [Severity.WARNING]),
        ({"memory_available_bytes": GB, "overcommit": 2}, []),
        ({"overcommit": 2, "committed_bytes": 99, "commit_limit_bytes": 100}, [Severity.WARNING]),
        ({"overcommit": 2, "committed_bytes": 50, "commit_limit_bytes": 100}, []),
        ({}, []),
    ],
)
def test_who_is_killed_for_memory(changes: dict[str, Any], expected: list[Severity]) -> None:
    assert severities("overcommit-risk", healthy_snapshot(), host(**changes)) == expected


@pytest.mark.parametrize(
    ("committed", "advised"), [(None, False), (8 * GB, True), (13 * GB, True), (14 * GB, False), (30 * GB, False)]
)
def test_strict_accounting_is_advised_where_what_is_promised_fits(committed: int | None, advised: bool) -> None:
    (finding,) = seen("overcommit-risk", healthy_snapshot(), host(oom_kills=3, committed_bytes=committed))
    assert any("vm.overcommit_memory=2" in treatment.title for treatment in finding.treatments) is advised
    assert any("protect the postmaster" in treatment.title for treatment in finding.treatments)


@pytest.mark.parametrize(
    ("used", "expected"), [(0.005, Severity.NOTICE), (0.9, Severity.WARNING), (None, Severity.WARNING)]
)
def test_processors_that_other_programs_use_make_no_server_sick(used: float | None, expected: Severity) -> None:
    busy = host(cpu_idle_share=0.0, pressure={"cpu": 0.9}, server_cpu_share=used)
    assert severities("cpu-saturated", healthy_snapshot(), busy) == [expected]
    health = examine(Case(healthy_snapshot(), host=busy), server="").health
    assert health in ((Health.OK, Health.WATCH) if expected is Severity.NOTICE else (Health.SICK,))


@pytest.mark.parametrize(
    ("kind", "options", "found"),
    [("btrfs", (), False), ("btrfs", ("rw", "nodatacow"), True), ("zfs", ("rw",), False), ("ext4", (), True)],
)
def test_torn_pages_are_possible_where_blocks_are_overwritten_in_place(
    kind: str, options: tuple[str, ...], found: bool
) -> None:
    disk = HostFilesystem(
        holds="data", path="/", kind=kind, bytes=1000 * GB, bytes_free=500 * GB, inodes_free=None, options=options
    )
    off = replace(
        healthy_snapshot(),
        settings=tuple(
            replace(setting, value="off") if setting.name == "full_page_writes" else setting
            for setting in healthy_snapshot().settings
        ),
    )
    assert bool(seen("full-page-writes-off", off, host(filesystems=(disk,)))) is found


@pytest.mark.parametrize(
    ("free", "inodes", "expected"),
    [
        (500 * GB, None, []),
        (150 * GB, 5, [Severity.CRITICAL]),
        (50 * GB, None, [Severity.WARNING]),
        (5 * GB, None, [Severity.CRITICAL]),
    ],
)
def test_a_disk_is_full_of_bytes_or_of_files(free: int, inodes: int | None, expected: list[Severity]) -> None:
    disk = HostFilesystem(
        holds="data", path="/", kind="ext4", bytes=1000 * GB, bytes_free=free, inodes_free=inodes, options=()
    )
    assert severities("disk-nearly-full", healthy_snapshot(), host(filesystems=(disk,))) == expected


def test_without_time_to_watch_shares_say_nothing() -> None:
    busy = {"cpu_idle_share": 0.0, "cpu_stolen_share": 0.5, "pressure": {"cpu": 1.0, "io_full": 1.0}}
    for name in ("cpu-saturated", "cpu-stolen", "io-pressure"):
        assert seen(name, healthy_snapshot(), host(**busy))
        assert not seen(name, healthy_snapshot(), host(observed_s=0.0, **busy))


def test_an_unwatched_io_of_others_is_a_notice() -> None:
    waits = host(pressure={"io": 0.9, "io_full": 0.9})
    assert severities("io-pressure", healthy_snapshot(), waits) == [Severity.NOTICE]
