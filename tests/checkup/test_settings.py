"""Illnesses of settings, and of data that settings protect: seen on real servers, treated, and gone."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fixtures.counted import reset_counters
from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding
from pgclinic.pg.session import QueryError

WRONG = "work_mem = 'much'\n"


def nothing(_: Patient) -> None:
    """The settings are the illness."""


def commit_asynchronously_once(near: Patient) -> None:
    near.session("set synchronous_commit to off", "select 1")


def role_that_commits_asynchronously(sick: Patient) -> None:
    sick.sql("create role importer login", "alter role importer set synchronous_commit to off")


def role_that_commits(near: Patient) -> None:
    near.sql("create role importer login", "alter role importer set synchronous_commit to on")


def change_what_needs_a_restart(sick: Patient) -> None:
    sick.sql("alter system set max_connections to 90", "select pg_reload_conf()")
    sick.until("select pending_restart from pg_settings where name = 'max_connections'")


def take_it_back(sick: Patient, found: Finding) -> None:
    sick.sql("alter system reset max_connections", "select pg_reload_conf()")
    sick.until("select not pending_restart from pg_settings where name = 'max_connections'")


def change_what_needs_a_reload(near: Patient) -> None:
    near.sql("alter system set work_mem to '5MB'", "select pg_reload_conf()")
    near.until("select current_setting('work_mem') = '5MB'")


def write_a_wrong_line(sick: Patient) -> None:
    with (sick.data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(WRONG)


def correct_the_line(sick: Patient, found: Finding) -> None:
    path = sick.data / "postgresql.conf"
    path.write_text(path.read_text(encoding="utf-8").replace(WRONG, ""), encoding="utf-8")


def replace_a_line(near: Patient) -> None:
    with (near.data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("work_mem = '5MB'\nwork_mem = '6MB'\n")
    near.sql("select pg_reload_conf()")
    near.until("select current_setting('work_mem') = '6MB'")


def role_without_index_scans(sick: Patient) -> None:
    sick.sql("create role reports", "alter role reports set enable_indexscan to off")
    reset_counters(sick)
    sick.sql("set role reports", "select count(*) from generate_series(1, 300000)")


def role_with_a_timeout(near: Patient) -> None:
    near.sql("create role reports", "alter role reports set statement_timeout to '1min'")
    near.sql("set role reports", "select count(*) from generate_series(1, 300000)")


def make_pages(sick: Patient) -> str:
    """A table whose pages are on disk and not in memory: VACUUM FULL writes its file past shared_buffers."""
    sick.sql(
        "create table damaged as select n, repeat('x', 100) as filler from generate_series(1, 500) n",
        "vacuum full damaged",
        "checkpoint",
    )
    ((path,),) = sick.rows("select pg_relation_filepath('damaged')")
    return str(path)


def damage_a_page(sick: Patient) -> None:
    with (sick.data / make_pages(sick)).open("r+b") as file:
        file.seek(8192 + 6000)
        file.write(b"\xff\x00\xff")
    with suppress(QueryError):
        sick.rows("select count(filler) from damaged")
    sick.until("select coalesce(checksum_failures, 0) > 0 from pg_stat_database where datname = current_database()")


def replace_the_table(sick: Patient, found: Finding) -> None:
    """As after a restore: the damaged file is gone, and the counter is reset."""
    sick.sql("drop table damaged", "select pg_stat_reset()")
    sick.until("select coalesce(checksum_failures, 0) = 0 from pg_stat_database where datname = current_database()")


def read_whole_pages(near: Patient) -> None:
    make_pages(near)
    near.rows("select count(filler) from damaged")


def ignore_in_one_session(near: Patient) -> None:
    near.session("set zero_damaged_pages to on", "select 1", name="rescue")


def outgrow_the_buffers(sick: Patient) -> None:
    sick.sql(
        "create unlogged table large (filler text) with (autovacuum_enabled = off)",
        "alter table large alter filler set storage plain",
        "insert into large select repeat('x', 7900) from generate_series(1, 17500)",
    )


def fit_the_buffers(near: Patient) -> None:
    near.sql("create table small as select n from generate_series(1, 1000) n")


ILLNESSES = (
    Illness(
        pathology="durability-off",
        settings={"synchronous_commit": "off"},
        sicken=nothing,
        near_settings={},
        near_miss=commit_asynchronously_once,
        names=("synchronous_commit",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="durability-off",
        sicken=role_that_commits_asynchronously,
        near_miss=role_that_commits,
        names=("role importer",),
    ),
    Illness(
        pathology="setting-pending-restart",
        sicken=change_what_needs_a_restart,
        treat=take_it_back,
        near_miss=change_what_needs_a_reload,
        names=("max_connections", "value in the file 90"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="setting-not-applied",
        sicken=write_a_wrong_line,
        treat=correct_the_line,
        near_miss=replace_a_line,
        names=("work_mem", "value in the file much"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="setting-overridden-by-role",
        sicken=role_without_index_scans,
        near_miss=role_with_a_timeout,
        names=("enable_indexscan", "role reports"),
        beside={"plan-types-disabled": "the same setting, as the sessions of the role have it"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="checksum-failures",
        sicken=damage_a_page,
        treat=replace_the_table,
        near_miss=read_whole_pages,
        names=("database postgres",),
    ),
    Illness(
        pathology="damaged-pages-ignored",
        settings={"zero_damaged_pages": "on"},
        sicken=nothing,
        near_settings={},
        near_miss=ignore_in_one_session,
        names=("zero_damaged_pages",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="sync-failures-retried",
        settings={"data_sync_retry": "on"},
        sicken=nothing,
        near_settings={"restart_after_crash": "off"},
        near_miss=nothing,
        names=("data_sync_retry",),
    ),
    Illness(
        pathology="developer-settings-on",
        settings={"wal_consistency_checking": "all"},
        sicken=nothing,
        near_settings={"debug_pretty_print": "on"},
        near_miss=nothing,
        names=("wal_consistency_checking",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="settings-never-tuned",
        sicken=outgrow_the_buffers,
        near_miss=fit_the_buffers,
        names=("shared_buffers", "max_wal_size", "postgres"),
        majors=("18",),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
