"""Illnesses of buffers, of memory and of I/O: seen on real servers, treated, and gone.

What only a machine of another size shows, such as its memory and page tables, is a record of such a machine beside the
snapshot of a real server.
"""

from __future__ import annotations

import os
import signal

import pytest

from fixtures.counted import GB, fill_pages, host, reset_counters
from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding

TINY = {"shared_buffers": "1MB"}
SMALL_IS_THERE_TOO = {
    "shared-buffers-small": "the buffers are made small so that this shows within a second",
    "shared-buffers-evictions": "the buffers are made small so that this shows within a second",
}


def lookups(rows: int, times: int) -> str:
    """Rows at random places, one after the other."""
    return (
        f"do $$ declare x int; begin for n in 1..{times} loop"
        f" select v into x from pages where id = 1 + (n::int8 * 7919) % {rows}; end loop; end $$"
    )


def updates(times: int) -> str:
    return (
        f"do $$ begin for n in 1..{times} loop"
        " update pages set v = v + 1 where id = 1 + (n::int8 * 7919) % 16000; end loop; end $$"
    )


def look_up(sick: Patient) -> None:
    fill_pages(sick)
    sick.sql(lookups(16_000, 12_000))


def look_up_few(near: Patient) -> None:
    fill_pages(near)
    near.sql(lookups(50, 12_000))


def update(sick: Patient) -> None:
    fill_pages(sick)
    sick.sql(updates(4_000))
    if sick.access.major < 17:
        # What backends wrote is counted when the checkpointer reads their requests.
        sick.sql("checkpoint")


def flush_without_checkpointer(sick: Patient, tables: int) -> None:
    """Files are extended while the checkpointer is stopped, so that its queue, of 128 places here, fills up."""
    reset_counters(sick)
    ((pid,),) = sick.rows("select pid from pg_stat_activity where backend_type = 'checkpointer'")
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGSTOP)
    try:
        sick.sql(
            f"do $$ begin for n in 1..{tables} loop execute format('create table t%s (v int)', n);"
            " execute format('insert into t%s values (1)', n); end loop; end $$"
        )
    finally:
        os.kill(pid, signal.SIGCONT)


def flush_many(sick: Patient) -> None:
    flush_without_checkpointer(sick, 300)
    if sick.access.major < 16:
        sick.sql("checkpoint")


def drop_tables(sick: Patient) -> None:
    """Of other names each, as the driver prepares what it sends again, and 18 does not count such a DROP."""
    reset_counters(sick)
    names = [f"dropped_{number}" for number in range(150)]
    steps = [(f"create table {name} (v int)", f"drop table {name}") for name in names]
    sick.sql("set synchronous_commit to off", *(statement for step in steps for statement in step))


def drop_at_once(sick: Patient, found: Finding) -> None:
    """What the first treatment says: one DROP for many tables."""
    reset_counters(sick)
    names = [f"dropped_{number}" for number in range(150)]
    sick.sql(*(f"create table {name} (v int)" for name in names), f"drop table {', '.join(names)}")


def read_temporary(sick: Patient, rows: int) -> None:
    reset_counters(sick)
    sick.sql(
        f"create temporary table steps as select n, repeat('x', 400) as filler from generate_series(1, {rows}) n",
        *["select count(filler) from steps"] * 4,
    )


def scan_by_many(sick: Patient) -> None:
    """Rows of half a page, so that a scan is hardly more than its reads."""
    sick.sql(
        "create unlogged table halves (id int, filler text) with (autovacuum_enabled = off)",
        "alter table halves alter filler set storage plain",
        "insert into halves select n, repeat('x', 3900) from generate_series(1, 10000) n",
        "vacuum (analyze) halves",
    )
    sick.load("select count(*) from halves;", clients=6)
    sick.until("select count(*) >= 5 from pg_stat_activity where state = 'active' and query like '%from halves%'")


def scan_with_a_slow_worker(sick: Patient) -> None:
    """The worker is the last to get a processor, so that sessions wait for it at any load of the machine."""
    scan_by_many(sick)
    ((pid,),) = sick.rows("select pid from pg_stat_activity where backend_type = 'io worker'")
    assert isinstance(pid, int)
    os.setpriority(os.PRIO_PROCESS, pid, 19)


def scan_again_and_again(sick: Patient) -> None:
    fill_pages(sick)
    sick.sql("set max_parallel_workers_per_gather to 0", *["select count(filler) from pages"] * 7)


def delete_from_all_pages(sick: Patient) -> None:
    fill_pages(sick)
    sick.sql("delete from pages where id % 8 = 0")


def delete_from_few_pages(near: Patient) -> None:
    fill_pages(near)
    near.sql("delete from pages where id % 200 = 0")


def on_a_small_machine(sick: Patient) -> None:
    sick.host = host(GB)
    for number in range(5):
        sick.session("select 1", name=f"report {number}")


def with_page_tables(sick: Patient) -> None:
    sick.host = host(16 * GB, page_table_bytes=GB)


def reserve_huge_pages(sick: Patient, found: Finding) -> None:
    """The machine after the treatment, which no test can give to the one it runs on."""
    sick.host = host(16 * GB, page_table_bytes=64 << 20, huge_pages=100)


def with_few_page_tables(near: Patient) -> None:
    near.host = host(16 * GB, page_table_bytes=100 << 20)


ILLNESSES = (
    Illness(
        pathology="shared-buffers-small",
        settings=TINY,
        sicken=look_up,
        near_miss=look_up_few,
        names=("shared_buffers", "value 1MB"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="shared-buffers-evictions",
        settings=TINY,
        sicken=update,
        near_miss=look_up,
        names=("shared_buffers", "buffers written by clients"),
        beside=SMALL_IS_THERE_TOO | {"autovacuum-off": "the updated rows that nothing vacuums here"},
    ),
    Illness(
        pathology="background-writer-off",
        settings={**TINY, "bgwriter_lru_maxpages": "0"},
        sicken=update,
        near_settings={"bgwriter_lru_maxpages": "0"},
        near_miss=update,
        names=("bgwriter_lru_maxpages",),
        beside=SMALL_IS_THERE_TOO,
        majors=("13", "18"),
    ),
    Illness(
        pathology="backends-sync-files",
        settings=TINY,
        sicken=flush_many,
        near_miss=lambda near: flush_without_checkpointer(near, 30),
        names=("data files", "data files flushed by sessions"),
        beside=SMALL_IS_THERE_TOO,
        majors=("13", "18"),
    ),
    Illness(
        pathology="drops-with-large-shared-buffers",
        settings={"shared_buffers": "1GB"},
        sicken=drop_tables,
        treat=drop_at_once,
        near_settings={"shared_buffers": "128MB"},
        near_miss=drop_tables,
        names=("shared_buffers", "drop table dropped_"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="temp-buffers-small",
        settings={"temp_buffers": "800kB"},
        sicken=lambda sick: read_temporary(sick, 8_000),
        near_miss=lambda near: read_temporary(near, 800),
        names=("temp_buffers", "select count(filler) from steps"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="io-workers-few",
        settings={"io_workers": "1", "shared_buffers": "16MB", "max_parallel_workers_per_gather": "0"},
        sicken=scan_with_a_slow_worker,
        near_settings={"io_method": "sync", "shared_buffers": "16MB", "max_parallel_workers_per_gather": "0"},
        near_miss=scan_by_many,
        names=("io_workers", "io_method"),
        beside=SMALL_IS_THERE_TOO,
    ),
    Illness(
        pathology="prefetch-off",
        settings={**TINY, "effective_io_concurrency": "0"},
        sicken=scan_again_and_again,
        near_settings=TINY,
        near_miss=scan_again_and_again,
        names=("effective_io_concurrency",),
        beside=SMALL_IS_THERE_TOO,
        majors=("13", "18"),
    ),
    Illness(
        pathology="maintenance-work-mem-small",
        settings={"maintenance_work_mem": "64kB"},
        sicken=delete_from_all_pages,
        near_miss=delete_from_few_pages,
        names=("maintenance_work_mem", "public.pages"),
    ),
    Illness(
        pathology="memory-overcommitted",
        settings={"work_mem": "256MB"},
        sicken=on_a_small_machine,
        near_settings={},
        near_miss=on_a_small_machine,
        names=("work_mem", "max_connections", "sessions now"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="huge-pages-unused",
        sicken=with_page_tables,
        treat=reserve_huge_pages,
        near_miss=with_few_page_tables,
        names=("huge_pages", "page tables"),
        beside={"page-tables-large": "the page tables that huge pages would save"},
        majors=("13", "18"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
