"""Illnesses of replication: seen on real servers with slots and standbys, treated, and gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest
from msgspec.structs import replace

from fixtures.lab_home import binaries_for
from fixtures.patient import Illness, Patient, check_illness, illness_cases
from fixtures.standby import standby_of
from pgclinic.lab.instance import RunningServer
from pgclinic.model.finding import Finding
from pgclinic.model.server import Server

SMALL_WAL = {"max_wal_size": "32MB", "min_wal_size": "32MB"}
FORCED = {"checkpoints-forced": "max_wal_size is at its minimum, so that little WAL is much"}
MAJOR = "18"


@dataclass(frozen=True)
class Elsewhere:
    """A server that was not started by the patient: its standby."""

    server: Server


def segments(patient: Patient, count: int) -> None:
    """So many segments of WAL of 16 MB, with hardly anything in them."""
    for _ in range(count):
        patient.sql("select txid_current()", "select pg_switch_wal()")


def leave_a_slot(sick: Patient) -> None:
    sick.sql("select pg_create_physical_replication_slot('away', true)")
    segments(sick, 4)


def leave_a_slot_for_a_moment(near: Patient) -> None:
    near.sql("select pg_create_physical_replication_slot('away', true)")
    segments(near, 1)


def lose_a_slot(sick: Patient) -> None:
    leave_a_slot(sick)
    sick.sql("checkpoint")
    sick.until("select wal_status = 'lost' from pg_replication_slots")


def keep_a_slot(near: Patient) -> None:
    leave_a_slot_for_a_moment(near)
    near.sql("checkpoint")


def standby(primary: Patient) -> Patient:
    """The same patient's standby, which ends with it."""
    access = primary.stack.enter_context(standby_of(primary.running.server, binaries_for(MAJOR)))
    return Patient(cast("RunningServer", Elsewhere(access.server)), primary.stack)


#: The standby of the patient that was made last, for its treatment.
STANDBYS: list[Patient] = []


def pause_replay(sick: Patient) -> None:
    STANDBYS.append(standby(sick))
    # Paused before it has asked for WAL, it would never ask.
    sick.until("select bool_or(state = 'streaming') from pg_stat_replication")
    STANDBYS[-1].sql("select pg_wal_replay_pause()")
    for _ in range(4):
        segments(sick, 1)
        # A segment that the standby does not have yet may be removed by the next checkpoint.
        sick.until("select bool_or(flush_lsn >= pg_current_wal_lsn()) from pg_stat_replication")
    sick.until("select bool_or(flush_lsn - replay_lsn > 33554432) from pg_stat_replication")


def resume_replay(sick: Patient, _: Finding) -> None:
    STANDBYS[-1].sql("select pg_wal_replay_resume()")
    sick.until("select bool_and(replay_lsn = pg_current_wal_lsn()) from pg_stat_replication")


def replay_at_once(near: Patient) -> None:
    standby(near)
    segments(near, 1)
    near.until("select bool_and(replay_lsn = pg_current_wal_lsn()) from pg_stat_replication")


def decode(patient: Patient, rows: int) -> None:
    """One transaction, decoded in 64 kB of memory."""
    patient.sql(
        "create table changed (id int, note text)",
        "create publication everything for all tables",
        "select pg_create_logical_replication_slot('reader', 'pgoutput')",
        f"insert into changed select n, repeat('x', 100) from generate_series(1, {rows}) n",
    )
    patient.sql(DECODE)
    patient.until("select total_txns > 0 from pg_stat_replication_slots")


DECODE = (
    "select count(*) from pg_logical_slot_get_binary_changes('reader', null, null, 'proto_version', '1', "
    "'publication_names', 'everything')"
)


def decode_in_memory(sick: Patient, found: Finding) -> None:
    sick.give(found.treatments[0])
    sick.sql("select pg_stat_reset_replication_slot('reader')")
    sick.sql("insert into changed select n, repeat('x', 100) from generate_series(1, 20000) n", DECODE)


def subscribe(patient: Patient, rows: int) -> None:
    """To another database of the same server; the first ``rows`` rows are here already."""
    server = patient.running.server
    patient.sql("create database publisher", "create table items (id int primary key)")
    publisher = Patient(cast("RunningServer", Elsewhere(replace(server, database="publisher"))), patient.stack)
    publisher.sql(
        "create table items (id int primary key)",
        "create publication items for table items",
        "select pg_create_logical_replication_slot('items', 'pgoutput')",
    )
    patient.sql(
        f"insert into items select generate_series(1, {rows})",
        f"create subscription items connection 'host={server.host} port={server.port} user={server.user} "
        "dbname=publisher' publication items with (create_slot = false, copy_data = false)",
    )
    publisher.sql("insert into items values (1)")


def fail_to_apply(sick: Patient) -> None:
    subscribe(sick, 1)
    sick.until("select apply_error_count >= 2 from pg_stat_subscription_stats")


def apply(near: Patient) -> None:
    subscribe(near, 0)
    near.until("select count(*) = 1 from items")


def remove_what_conflicts(sick: Patient, _: Finding) -> None:
    sick.sql("delete from items")
    sick.until("select count(*) = 1 from items")
    sick.sql("select pg_stat_reset_subscription_stats(null)")


def look_at_the_standby(primary: Patient) -> Server:
    """From now on the patient is the standby; the primary is what is returned."""
    server = primary.running.server
    primary.running = standby(primary).running
    return server


def conflict(patient: Patient, sessions: int) -> None:
    """Sessions of the standby read a table that is dropped on the primary."""
    patient.sql("create table doomed as select 1 as id")
    primary = Patient(patient.running, patient.stack)
    look_at_the_standby(patient)
    patient.sql("alter system set max_standby_streaming_delay to 0", "select pg_reload_conf()")
    patient.until("select to_regclass('doomed') is not null and current_setting('max_standby_streaming_delay') = '0'")
    for _ in range(sessions):
        patient.session("begin", "select * from doomed")
    primary.sql("drop table doomed")
    patient.until(f"select conflicts >= {sessions} from pg_stat_database where datname = current_database()")


def cancel_queries(sick: Patient) -> None:
    conflict(sick, 3)


def cancel_one_query(near: Patient) -> None:
    conflict(near, 1)


def let_recovery_wait(sick: Patient, found: Finding) -> None:
    sick.give(found.treatments[0])
    sick.sql("select pg_stat_reset()")


def lose_the_primary(sick: Patient) -> None:
    look_at_the_standby(sick)
    sick.sql(
        "alter system set wal_retrieve_retry_interval to '100ms'",
        "alter system set primary_conninfo to 'host=/nowhere'",
        "select pg_reload_conf()",
    )
    sick.until("select count(*) = 0 from pg_stat_wal_receiver")


def find_the_primary(sick: Patient, _: Finding) -> None:
    sick.sql(f"alter system set primary_conninfo to '{CONNINFO[-1]}'", "select pg_reload_conf()")
    sick.until("select count(*) = 1 from pg_stat_wal_receiver where status = 'streaming'")


#: What the standby of the last patient was connected by.
CONNINFO: list[str] = []


def be_away_from_the_primary(sick: Patient) -> None:
    primary = sick.running.server
    CONNINFO.append(f"host={primary.host} port={primary.port} user={primary.user}")
    lose_the_primary(sick)


def follow_the_primary(near: Patient) -> None:
    look_at_the_standby(near)
    near.until("select count(*) = 1 from pg_stat_wal_receiver where status = 'streaming'")


ILLNESSES = (
    Illness(
        pathology="slot-keeps-wal",
        settings=SMALL_WAL,
        sicken=leave_a_slot,
        near_miss=leave_a_slot_for_a_moment,
        names=("slot away",),
        beside=FORCED,
        majors=("13", "18"),
    ),
    Illness(
        pathology="slot-invalidated",
        settings={**SMALL_WAL, "max_slot_wal_keep_size": "16MB"},
        sicken=lose_a_slot,
        near_miss=keep_a_slot,
        names=("slot away", "WAL status lost"),
        beside=FORCED,
        majors=("13", "18"),
    ),
    Illness(
        pathology="standby-lags",
        settings={**SMALL_WAL, "wal_keep_size": "32MB"},
        sicken=pause_replay,
        near_miss=replay_at_once,
        treat=resume_replay,
        names=("standby walreceiver", "to be replayed"),
        beside=FORCED,
    ),
    Illness(
        pathology="recovery-conflicts",
        sicken=cancel_queries,
        near_miss=cancel_one_query,
        treat=let_recovery_wait,
        names=("database postgres", "by locks 3"),
    ),
    Illness(
        pathology="logical-decoding-spills",
        settings={"wal_level": "logical", "logical_decoding_work_mem": "64kB"},
        sicken=lambda sick: decode(sick, 20_000),
        near_miss=lambda near: decode(near, 200),
        treat=decode_in_memory,
        names=("slot reader", "logical_decoding_work_mem"),
        majors=("14", "18"),
    ),
    Illness(
        pathology="subscription-errors",
        settings={"wal_level": "logical", "wal_retrieve_retry_interval": "100ms"},
        sicken=fail_to_apply,
        near_miss=apply,
        treat=remove_what_conflicts,
        names=("subscription items",),
        beside={"transactions-rolled-back": "each attempt to apply the change is rolled back"},
    ),
    Illness(
        pathology="standby-disconnected",
        sicken=be_away_from_the_primary,
        near_miss=follow_the_primary,
        treat=find_the_primary,
        names=("primary_conninfo", "not connected"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
