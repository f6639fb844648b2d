"""Illnesses of vacuum and of bloat: seen on real servers, treated, and gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding

TABLE = "create table orders (id int primary key, v int not null)"
STAYS = "what was not vacuumed away is still there"


def fill(patient: Patient, rows: int = 12_000, table: str = TABLE, values: str = "n, 0") -> None:
    """A table that is filled, vacuumed and analyzed; the last two in a session that sees all counters of the first."""
    patient.sql(table, f"insert into orders select {values} from generate_series(1, {rows}) n")
    counted(patient, f"n_live_tup >= {rows}")
    patient.sql("vacuum analyze orders")


def counted(patient: Patient, condition: str, table: str = "orders") -> None:
    """Wait until the statistics of a table are there."""
    patient.until(f"select coalesce(bool_and({condition}), false) from pg_stat_all_tables where relname = '{table}'")


def update_all(patient: Patient) -> None:
    fill(patient)
    patient.sql("update orders set v = 1")
    counted(patient, "n_dead_tup >= 12000")


def update_a_third(near: Patient) -> None:
    fill(near, 33_000)
    near.sql("update orders set v = 1 where id % 3 = 0")
    counted(near, "n_dead_tup >= 11000")


def update_a_table_of_its_own(sick: Patient) -> None:
    fill(sick, table=f"{TABLE} with (autovacuum_enabled = off)")
    sick.sql("update orders set v = 1")
    counted(sick, "n_dead_tup >= 12000")


def update_some_rows_of_its_own(near: Patient) -> None:
    fill(near, table=f"{TABLE} with (autovacuum_enabled = off)")
    near.sql("update orders set v = 1 where id <= 2000")
    counted(near, "n_dead_tup >= 2000")


def count_nothing_for_one_role(near: Patient) -> None:
    near.sql("create role job", "alter role job set track_counts = off")


def vacuum_for_nothing(sick: Patient) -> None:
    fill(sick)
    hold(sick)
    sick.sql("update orders set v = 1")
    counted(sick, "n_dead_tup >= 12000")
    sick.sql("vacuum orders")
    counted(sick, "vacuum_count = 2")


def hold(patient: Patient) -> None:
    patient.session("begin isolation level repeatable read", "select count(*) from orders", name="report")


def hold_and_not_vacuum(near: Patient) -> None:
    fill(near)
    hold(near)
    near.sql("update orders set v = 1")
    counted(near, "n_dead_tup >= 12000")


def change_a_few_rows_again_and_again(sick: Patient) -> None:
    fill(sick)
    sick.until(
        "with changed as (update orders set v = v + 1 where id <= 20 returning 1) "
        "select count(*) > 0 and (select autovacuum_count + autoanalyze_count >= 4 from pg_stat_user_tables "
        "where relname = 'orders') from changed",
        limit_s=60,
    )


def change_all_rows(near: Patient) -> None:
    fill(near)
    near.sql("update orders set v = 1")
    counted(near, "autovacuum_count + autoanalyze_count >= 2")


SLOW = "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1"


def keep_the_only_worker_busy(patient: Patient) -> None:
    """A table whose VACUUM sleeps for 100 ms at each of its 900 pages."""
    patient.sql(f"create table busy (id int primary key, v int not null) with (fillfactor = 10, {SLOW})")
    patient.sql("insert into busy select n, 0 from generate_series(1, 20000) n")
    patient.until("select exists (select from pg_stat_progress_vacuum where relid = 'busy'::regclass)", limit_s=60)


def wait_for_the_worker(sick: Patient) -> None:
    fill(sick)
    keep_the_only_worker_busy(sick)
    sick.sql("update orders set v = 1")
    counted(sick, "n_dead_tup >= 12000")
    worked_for_a_while(sick)


def worked_for_a_while(patient: Patient) -> None:
    patient.until(
        "select coalesce(max(clock_timestamp() - backend_start) > '1.5 s', false) from pg_stat_activity "
        "where backend_type = 'autovacuum worker'"
    )


def wait_with_few_dead_rows(near: Patient) -> None:
    fill(near)
    keep_the_only_worker_busy(near)
    near.sql("update orders set v = 1 where id <= 4000")
    counted(near, "n_dead_tup >= 4000")
    worked_for_a_while(near)


def vacuum_slowly(changed: str) -> Callable[[Patient], None]:
    """A VACUUM of 700 pages that sleeps for 100 ms at each. Rows come in one transaction with their changes."""

    def sicken(patient: Patient) -> None:
        patient.sql(
            "create table orders (id int primary key, v int not null, note text not null)",
            "begin; insert into orders select n, 0, repeat('x', 400) from generate_series(1, 12000) n; "
            f"update orders set v = 1 where {changed}; commit",
        )
        patient.until(
            "select exists (select from pg_stat_progress_vacuum where relid = 'orders'::regclass "
            "and phase = 'scanning heap' and heap_blks_scanned between 1 and 300)",
            limit_s=60,
        )

    return sicken


def vacuum_in_parts(fillfactor: int) -> Callable[[Patient], None]:
    """A VACUUM of 185,000 dead rows that waits for the last page of its table, on which a cursor stands."""

    def sicken(patient: Patient) -> None:
        patient.sql("drop table if exists orders")
        fill(patient, 185_000, f"{TABLE} with (fillfactor = {fillfactor})")
        patient.sql("delete from orders where id <= 184900", "update orders set v = 1 where id > 184900")
        cursor = "declare stands cursor for select * from orders where id = 185000"
        patient.session("begin", cursor, "fetch 1 from stands", name="cursor")
        patient.blocked("vacuum (freeze) orders")
        patient.until(
            "select exists (select from pg_stat_activity where wait_event = 'BufferPin' and query ~ '^vacuum')", 60
        )

    return sicken


def vacuum_with_more_memory(again: Callable[[Patient], None]) -> Callable[[Patient, Finding], None]:
    def treat(sick: Patient, found: Finding) -> None:
        sick.give(found.treatments[0])
        for (pid,) in sick.rows("select pid from pg_stat_activity where application_name = 'cursor'"):
            assert isinstance(pid, int)
            sick.end(pid)
        sick.until("select not exists (select from pg_stat_progress_vacuum)")
        again(sick)

    return treat


def leave_index_entries(rows_deleted: str) -> Callable[[Patient], None]:
    def sicken(patient: Patient) -> None:
        fill(patient, 20_000, f"{TABLE} with (vacuum_index_cleanup = off)")
        patient.sql(f"delete from orders where {rows_deleted}")
        patient.sql("vacuum orders")
        counted(patient, "vacuum_count = 2")
        patient.sql("analyze orders")
        counted(patient, "analyze_count = 2 and n_dead_tup > 0")

    return sicken


def delete_rows(condition: str, *, rows: int, table: str, values: str, index: str = "") -> Callable[[Patient], None]:
    """Free space all over a table, as what is at its end VACUUM gives back."""

    def sicken(patient: Patient) -> None:
        patient.sql(table, *([index] if index else ()))
        patient.sql(f"insert into orders select {values} from generate_series(1, {rows}) n")
        patient.sql(f"delete from orders where {condition}")
        counted(patient, "n_dead_tup > 0")
        patient.sql("vacuum orders")
        counted(patient, "vacuum_count = 1")
        patient.sql("analyze orders")
        counted(patient, "analyze_count = 1")

    return sicken


WIDE = {
    "rows": 30_000,
    "table": "create table orders (id int primary key, note text not null)",
    "values": "n, repeat('x', 400)",
}
KEYED = {
    "rows": 50_000,
    "table": "create table orders (id int primary key, note text not null)",
    "index": "create index orders_note_idx on orders (note)",
    "values": "n, lpad(n::text, 200, '0')",
}
TOASTED = {
    "rows": 1_500,
    "table": "create table orders (id int primary key, body text not null); "
    "alter table orders alter column body set storage external",
    "values": "n, repeat('x', 7900)",
}


def make_temporary_tables(number: int) -> Callable[[Patient], None]:
    """Each leaves about a thousand dead rows in pg_attribute."""

    def sicken(patient: Patient) -> None:
        patient.sql(
            "do $$ declare columns text := "
            "(select string_agg('c' || n || ' int', ', ') from generate_series(1, 1000) n); "
            f"begin for n in 1..{number} loop execute 'create temporary table wide (' || columns || ')'; "
            "drop table wide; end loop; end $$"
        )
        counted(patient, f"n_dead_tup >= {number * 1000}", "pg_attribute")

    return sicken


def update_three_times(*, options: str, index: str = "") -> Callable[[Patient], None]:
    """As many updates as make a load, and a VACUUM after each round."""

    def sicken(patient: Patient) -> None:
        table = f"create table orders (id int primary key, v int not null, w int not null) with ({options})"
        patient.sql(table, *([index] if index else ()))
        patient.sql("insert into orders select n, n, n from generate_series(1, 5000) n")
        for round_ in range(1, 4):
            patient.sql("update orders set v = v + 1", "vacuum analyze orders")
            counted(patient, f"n_tup_upd = {round_ * 5000} and vacuum_count = {round_}")
        patient.sql("vacuum orders")
        counted(patient, "n_dead_tup = 0")

    return sicken


def scan_the_index(options: str) -> Callable[[Patient], None]:
    def sicken(patient: Patient) -> None:
        patient.sql(
            f"create table orders (id int primary key, v int not null, w int not null) with ({options})",
            "create index orders_v_idx on orders (v) include (w)",
            "insert into orders select n, n, n from generate_series(1, 30000) n",
        )
        patient.sql("analyze orders")
        patient.sql(
            "set enable_seqscan = off",
            "set enable_bitmapscan = off",
            "select sum(w) from orders where v > 0",
        )
        counted(patient, "idx_scan > 0")

    return sicken


def large_table(rows: int) -> Callable[[Patient], None]:
    """Autovacuum goes by the rows that are known of a table: these are told to the server, the dead ones are real."""

    def sicken(patient: Patient) -> None:
        fill(patient, 120_000)
        patient.sql("delete from orders where id <= 110000")
        counted(patient, "n_dead_tup >= 110000")
        patient.sql(
            "select pg_restore_relation_stats('schemaname', 'public', 'relname', 'orders', "
            f"'relpages', {rows // 200}::int, 'reltuples', {rows}::real)"
        )

    return sicken


ILLNESSES = (
    Illness(
        pathology="dead-rows",
        sicken=update_all,
        near_miss=update_a_third,
        names=("public.orders", "dead rows 12000"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="autovacuum-off",
        settings={"autovacuum": "off"},
        sicken=update_all,
        near_settings={},
        near_miss=update_some_rows_of_its_own,
        names=("autovacuum", "public.orders"),
        beside={"dead-rows": STAYS},
    ),
    Illness(
        pathology="autovacuum-off",
        sicken=update_a_table_of_its_own,
        near_miss=update_some_rows_of_its_own,
        names=("public.orders", "storage parameter autovacuum_enabled off"),
        beside={"dead-rows": STAYS},
        majors=("13",),
    ),
    Illness(
        pathology="statistics-collection-off",
        settings={"track_counts": "off"},
        sicken=lambda sick: sick.sql(TABLE, "insert into orders values (1, 1)", "vacuum analyze orders"),
        near_settings={},
        near_miss=count_nothing_for_one_role,
        names=("track_counts",),
    ),
    Illness(
        pathology="autovacuum-without-effect",
        sicken=vacuum_for_nothing,
        near_miss=hold_and_not_vacuum,
        names=("public.orders", "report"),
        beside={"dead-rows": STAYS},
        majors=("13", "18"),
    ),
    Illness(
        pathology="autovacuum-churn",
        settings={
            "autovacuum_naptime": "1s",
            "autovacuum_vacuum_threshold": "1",
            "autovacuum_vacuum_scale_factor": "0",
            "autovacuum_analyze_threshold": "1",
            "autovacuum_analyze_scale_factor": "0",
        },
        sicken=change_a_few_rows_again_and_again,
        near_settings={"autovacuum_naptime": "1s"},
        near_miss=change_all_rows,
        names=("public.orders", "autovacuum_vacuum_threshold", "autovacuum_naptime"),
    ),
    Illness(
        pathology="autovacuum-behind",
        settings={"autovacuum_naptime": "1s", "autovacuum_max_workers": "1"},
        sicken=wait_for_the_worker,
        near_miss=wait_with_few_dead_rows,
        names=("public.orders", "public.busy", "autovacuum_max_workers"),
        beside={"dead-rows": STAYS},
    ),
    Illness(
        pathology="autovacuum-throttled",
        settings={
            "autovacuum_naptime": "1s",
            "autovacuum_vacuum_cost_delay": "100ms",
            "autovacuum_vacuum_cost_limit": "1",
        },
        sicken=vacuum_slowly("true"),
        near_miss=vacuum_slowly("id <= 4000"),
        names=("public.orders", "autovacuum_vacuum_cost_delay", "autovacuum_vacuum_cost_limit"),
        beside={"dead-rows": STAYS},
    ),
    Illness(
        pathology="vacuum-index-passes",
        settings={"maintenance_work_mem": "64kB"},
        sicken=vacuum_in_parts(20),
        near_settings={"maintenance_work_mem": "64MB"},
        near_miss=vacuum_in_parts(20),
        treat=vacuum_with_more_memory(vacuum_in_parts(20)),
        names=("public.orders", "maintenance_work_mem"),
        beside={"dead-rows": STAYS, "maintenance-work-mem-small": "what makes it"},
    ),
    Illness(
        pathology="vacuum-index-passes",
        settings={"maintenance_work_mem": "1MB"},
        sicken=vacuum_in_parts(100),
        near_settings={"maintenance_work_mem": "64MB"},
        near_miss=vacuum_in_parts(100),
        treat=vacuum_with_more_memory(vacuum_in_parts(100)),
        names=("public.orders", "maintenance_work_mem"),
        beside={"dead-rows": STAYS, "maintenance-work-mem-small": "what makes it"},
        majors=("13",),
    ),
    Illness(
        pathology="index-cleanup-off",
        sicken=leave_index_entries("id % 5 < 3"),
        near_miss=leave_index_entries("id % 5 = 0"),
        names=("public.orders", "storage parameter vacuum_index_cleanup off"),
        beside={"dead-rows": STAYS},
        majors=("13", "18"),
    ),
    Illness(
        pathology="table-bloat",
        sicken=delete_rows("id % 10 <> 0", **WIDE),
        near_miss=delete_rows("id % 10 < 4", **WIDE),
        names=("public.orders",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="index-bloat",
        sicken=delete_rows("id % 10 <> 0", **KEYED),
        near_miss=delete_rows("id % 2 = 0", **KEYED),
        names=("public.orders_note_idx",),
        beside={"table-bloat": "the rows were deleted from the table as well"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="toast-bloat",
        sicken=delete_rows("id % 10 <> 0", **TOASTED),
        near_miss=delete_rows("id % 10 < 4", **TOASTED),
        names=("public.orders",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="catalog-bloat",
        sicken=make_temporary_tables(60),
        near_miss=make_temporary_tables(20),
        names=("system catalogs", "pg_catalog.pg_attribute"),
    ),
    Illness(
        pathology="hot-updates-lost",
        sicken=update_three_times(options="fillfactor = 40", index="create index orders_v_idx on orders (v)"),
        near_miss=update_three_times(options="fillfactor = 40", index="create index orders_w_idx on orders (w)"),
        names=("public.orders", "public.orders_v_idx", "update orders set v"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="fillfactor-too-full",
        sicken=update_three_times(options="fillfactor = 100"),
        near_miss=update_three_times(options="fillfactor = 40"),
        names=("public.orders", "fillfactor 100"),
    ),
    Illness(
        pathology="visibility-map-stale",
        sicken=scan_the_index("fillfactor = 10, autovacuum_vacuum_insert_threshold = -1"),
        near_miss=scan_the_index("fillfactor = 10"),
        names=("public.orders", "public.orders_v_idx"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="scale-factor-on-large-table",
        sicken=large_table(5_200_000),
        near_miss=large_table(4_000_000),
        names=("public.orders", "autovacuum_vacuum_scale_factor"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
