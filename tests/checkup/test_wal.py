"""Illnesses of WAL, checkpoints and archiving: seen on real servers, treated, and gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.counted import (
    GB,
    filesystem,
    host,
    requested_checkpoints,
    reset_counters,
    switch_wal,
    write_wal,
)
from fixtures.patient import Illness, Patient, Step, check_illness, illness_cases, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import CostKind, Finding, Severity

SMALL_WAL = {"max_wal_size": "32MB", "min_wal_size": "32MB"}
ROUNDS = 4
INSERTS = "insert into events (v) values (1);"
#: One row of each page is updated, so that after a checkpoint each update writes an image of its page.
TOUCH_PAGES = "update wide set v = v + 1 where id % 40 = 0"


def force_checkpoints(sick: Patient) -> None:
    sick.sql("checkpoint")
    reset_counters(sick)
    for number in range(ROUNDS):
        write_wal(sick, 20)
        sick.until(f"select {requested_checkpoints(sick)} > {number}")


def run_checkpoints(sick: Patient) -> None:
    sick.sql("checkpoint")
    reset_counters(sick)
    for number in range(ROUNDS):
        # Without WAL there is nothing to do, and 18 counts what was done.
        sick.sql("select pg_logical_emit_message(true, 'test', 'x')", "checkpoint")
        sick.until(f"select {requested_checkpoints(sick)} > {number}")


def forget(sick: Patient, found: Finding) -> None:
    reset_counters(sick)


def fill_wide(sick: Patient) -> None:
    sick.sql(
        "create table wide (id int primary key, v int not null, filler text not null)"
        " with (fillfactor = 90, autovacuum_enabled = off)",
        "insert into wide select n, 0, repeat('x', 140) from generate_series(1, 60000) n",
        "vacuum (analyze) wide",
        "checkpoint",
    )
    reset_counters(sick)


def write_images(sick: Patient) -> None:
    fill_wide(sick)
    for _ in range(ROUNDS):
        sick.sql(TOUCH_PAGES, "checkpoint")
    sick.until(f"select {requested_checkpoints(sick)} >= {ROUNDS}")


def update_between_checkpoints(near: Patient) -> None:
    fill_wide(near)
    near.sql(*[TOUCH_PAGES] * ROUNDS)


def update_again(sick: Patient, found: Finding) -> None:
    """What the treatment brings: the same updates without checkpoints between them."""
    reset_counters(sick)
    sick.sql(*[TOUCH_PAGES] * ROUNDS)


def write_much(sick: Patient) -> None:
    reset_counters(sick)
    write_wal(sick, 80)


def write_nothing(near: Patient) -> None:
    reset_counters(near)


def checkpoint_many_buffers(sick: Patient) -> None:
    sick.sql("checkpoint")
    reset_counters(sick)
    sick.sql("create table filled as select n, repeat('x', 800) from generate_series(1, 14000) n", "checkpoint")
    sick.until(f"select {requested_checkpoints(sick)} >= 1")


def checkpoint_few_buffers(near: Patient) -> None:
    near.sql("checkpoint")
    reset_counters(near)
    near.sql("create table filled as select 1 as n", "checkpoint")
    near.until(f"select {requested_checkpoints(near)} >= 1")


def fill_wal_buffers(sick: Patient) -> None:
    reset_counters(sick)
    write_wal(sick, 30)


def commit_until(rows: int) -> Step:
    """Sessions that insert and commit one row each, until there are so many and beyond."""

    def commit(sick: Patient) -> None:
        sick.sql("create table events (id int generated always as identity primary key, v int not null)")
        sick.load(INSERTS, clients=8)
        sick.until(f"select count(*) > {rows} from events")

    return commit


def commit_asynchronously(sick: Patient, found: Finding) -> None:
    sick.sql("alter system set synchronous_commit to off", "select pg_reload_conf()")
    sick.until("select pg_sleep(0.5) is not null and current_setting('synchronous_commit') = 'off'")


def wait_for_a_standby(sick: Patient) -> None:
    sick.sql("create table orders (id int primary key)")
    sick.sql("alter system set synchronous_standby_names to 'standby_a'", "select pg_reload_conf()")
    sick.until("select current_setting('synchronous_standby_names') = 'standby_a'")
    sick.blocked("insert into orders values (1)", name="shop")
    sick.until("select exists (select from pg_stat_activity where wait_event = 'SyncRep')")


def commit_locally(near: Patient) -> None:
    near.sql("create table orders (id int primary key)")
    near.sql("alter system set synchronous_standby_names to 'standby_a'", "select pg_reload_conf()")
    near.until("select current_setting('synchronous_standby_names') = 'standby_a'")
    near.sql("insert into orders values (1)")


def fail_to_archive(sick: Patient) -> None:
    switch_wal(sick, 1)
    sick.until("select failed_count > 0 from pg_stat_archiver")


def archive_again(sick: Patient) -> None:
    sick.sql("alter system set archive_command to 'true'", "select pg_reload_conf()")
    sick.until("select current_setting('archive_command') = 'true'")
    switch_wal(sick, 1)
    sick.until("select last_archived_time > last_failed_time from pg_stat_archiver")


def fail_for_a_while(near: Patient) -> None:
    fail_to_archive(near)
    archive_again(near)


def archive_slowly(sick: Patient) -> None:
    switch_wal(sick, 8)
    sick.until("select archived_count > 0 from pg_stat_archiver")


def archive_faster(sick: Patient, found: Finding) -> None:
    sick.sql("alter system set archive_command to 'true'", "select pg_reload_conf()")
    sick.until("select archived_count >= 8 from pg_stat_archiver")


def archive_in_time(near: Patient) -> None:
    switch_wal(near, 8)
    near.until("select archived_count >= 8 from pg_stat_archiver")


def write_full_segments(near: Patient) -> None:
    reset_counters(near)
    write_wal(near, 200)


def decode_wal(near: Patient) -> None:
    near.sql("select pg_create_logical_replication_slot('changes', 'pgoutput')")


def nothing(_: Patient) -> None:
    """The settings are the illness."""


def on_zfs(near: Patient) -> None:
    near.host = host(8 * GB, filesystems=[filesystem("data, WAL", kind="zfs")])


def keep_wal(sick: Patient) -> None:
    switch_wal(sick, 6)


ILLNESSES = (
    Illness(
        pathology="checkpoints-forced",
        settings=SMALL_WAL,
        sicken=force_checkpoints,
        near_miss=run_checkpoints,
        names=("max_wal_size", "requested checkpoints"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="checkpoints-by-command",
        sicken=run_checkpoints,
        treat=forget,
        near_settings=SMALL_WAL,
        near_miss=force_checkpoints,
        names=("checkpoint", "calls 4"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="full-page-image-storm",
        sicken=write_images,
        treat=update_again,
        near_miss=update_between_checkpoints,
        names=("checkpoint_timeout", "update wide set v"),
        beside={
            "checkpoints-by-command": "they make the images",
            "wal-compression-off": "it is a treatment of it",
        },
        majors=("13", "18"),
    ),
    Illness(
        pathology="wal-compression-off",
        sicken=write_images,
        near_settings={"wal_compression": "on"},
        near_miss=write_images,
        names=("wal_compression",),
        beside={
            "checkpoints-by-command": "they make the images",
            "full-page-image-storm": "compression is a treatment of it",
        },
    ),
    Illness(
        pathology="checkpoint-timeout-short",
        settings={"checkpoint_timeout": "30s"},
        sicken=write_much,
        near_miss=write_nothing,
        names=("checkpoint_timeout",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="checkpoint-spikes",
        settings={"checkpoint_completion_target": "0"},
        sicken=checkpoint_many_buffers,
        near_miss=checkpoint_few_buffers,
        names=("checkpoint_completion_target",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="wal-buffers-small",
        settings={"wal_buffers": "32kB"},
        sicken=fill_wal_buffers,
        near_settings={},
        near_miss=fill_wal_buffers,
        names=("wal_buffers",),
    ),
    Illness(
        pathology="commit-delay",
        settings={"commit_delay": "100000", "commit_siblings": "0"},
        sicken=commit_until(20),
        near_settings={"commit_delay": "1000", "commit_siblings": "0"},
        near_miss=commit_until(20),
        names=("commit_delay", "commit_siblings"),
        beside={"commits-wait-for-sync": "commits that follow a sleeping one wait for its flush"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="wal-sync-method-slow",
        settings={"wal_sync_method": "open_datasync"},
        sicken=commit_until(1000),
        near_settings={"wal_sync_method": "fdatasync"},
        near_miss=commit_until(1000),
        names=("wal_sync_method", "value open_datasync"),
        beside={"commits-wait-for-sync": "the load is of commits alone"},
    ),
    Illness(
        pathology="commits-wait-for-sync",
        # So long that most sessions wait at any time, and not longer than a flush may take.
        settings={"commit_delay": "4000", "commit_siblings": "0"},
        sicken=commit_until(200),
        treat=commit_asynchronously,
        near_settings={"commit_delay": "4000", "commit_siblings": "0", "synchronous_commit": "off"},
        near_miss=commit_until(1000),
        names=("synchronous_commit",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="synchronous-standby-missing",
        sicken=wait_for_a_standby,
        near_settings={"synchronous_commit": "local"},
        near_miss=commit_locally,
        names=("standby_a", "session", "shop"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="fsync-off",
        settings={"fsync": "off"},
        sicken=nothing,
        near_settings={"synchronous_commit": "off"},
        near_miss=nothing,
        names=("fsync",),
    ),
    Illness(
        pathology="full-page-writes-off",
        settings={"full_page_writes": "off"},
        sicken=nothing,
        near_miss=on_zfs,
        names=("full_page_writes",),
    ),
    Illness(
        pathology="archiving-fails",
        settings={"archive_mode": "on", "archive_command": "false"},
        sicken=fail_to_archive,
        treat=lambda sick, found: archive_again(sick),
        near_miss=fail_for_a_while,
        names=("archive_command", "failures"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="archiving-behind",
        settings={"archive_mode": "on", "archive_command": "sleep 3", **SMALL_WAL},
        sicken=archive_slowly,
        treat=archive_faster,
        near_settings={"archive_mode": "on", "archive_command": "true", **SMALL_WAL},
        near_miss=archive_in_time,
        names=("archive_command", "value sleep 3", "max_wal_size"),
    ),
    Illness(
        pathology="archiving-not-configured",
        settings={"archive_mode": "on"},
        sicken=nothing,
        near_settings={"archive_mode": "on", "archive_command": "true"},
        near_miss=nothing,
        names=("archive_mode", "archive_command"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="archive-timeout-short",
        settings={"archive_mode": "on", "archive_command": "true", "archive_timeout": "5s"},
        sicken=write_nothing,
        near_miss=write_full_segments,
        names=("archive_timeout",),
    ),
    Illness(
        pathology="wal-level-logical-unused",
        settings={"wal_level": "logical"},
        sicken=nothing,
        near_miss=decode_wal,
        names=("wal_level",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="wal-kept",
        settings={"wal_keep_size": "64MB", **SMALL_WAL},
        sicken=keep_wal,
        near_settings={"wal_keep_size": "16MB", **SMALL_WAL},
        near_miss=keep_wal,
        names=("wal_keep_size",),
        majors=("13", "18"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)


def test_a_short_timeout_is_a_warning_where_its_checkpoints_make_images() -> None:
    """Ten checkpoints by time take five minutes at least, so the counters of commanded ones are given to them."""
    with patient("18", {"checkpoint_timeout": "30s"}) as sick:
        write_images(sick)
        taken = take_snapshot(sick.access)
    (counted,) = taken.counters.checkpoints
    by_time = replace(counted, timed=counted.requested, requested=0)
    changed = replace(taken, counters=replace(taken.counters, checkpoints=(by_time,)))
    found = {finding.pathology: finding.severity for finding in examine(Case(changed), server="patient").findings}
    assert found["checkpoint-timeout-short"] is Severity.WARNING
    assert "checkpoints-by-command" not in found


def test_slow_flushes_of_checkpoints_are_found() -> None:
    """No test makes a disk slow, so a real server's flushes are given more time."""
    with patient("18", {"checkpoint_flush_after": "0"}) as sick:
        run_checkpoints(sick)
        taken = take_snapshot(sick.access)
    (counted,) = taken.counters.checkpoints
    found = {}
    for each_ms in (300.0, 3_000.0):
        slow = replace(counted, sync_ms=each_ms * (counted.done or 0))
        changed = replace(taken, counters=replace(taken.counters, checkpoints=(slow,)))
        findings = examine(Case(changed), server="patient").findings
        found[each_ms] = [finding for finding in findings if finding.pathology == "checkpoint-flush-slow"]
    assert found[300.0] == []
    (one,) = found[3_000.0]
    assert one.treatments[0].settings == {"checkpoint_flush_after": "256kB"}
    assert one.evidence[0].name == "checkpoint_flush_after"


def test_an_archive_that_fails_is_critical_where_the_disk_is_soon_full() -> None:
    with patient("18", {"archive_mode": "on", "archive_command": "false"}) as sick:
        fail_to_archive(sick)
        sick.sql("select pg_stat_reset_shared('wal')")
        write_wal(sick, 60)
        sick.host = host(
            8 * GB, filesystems=[filesystem("data", free_bytes=900 * GB), filesystem("WAL", free_bytes=GB)]
        )
        found = {finding.pathology: finding for finding in sick.checkup().findings}["archiving-fails"]
    assert found.severity is Severity.CRITICAL
    assert found.cost is not None
    assert found.cost.kind is CostKind.DAYS_LEFT
    assert found.cost.value < 1.0
