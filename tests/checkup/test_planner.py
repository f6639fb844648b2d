"""Illnesses of the planner and its statistics: seen on real servers, treated, and gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.patient import Illness, Patient, check_illness, illness_cases, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.pathology import Seen
from pgclinic.model.finding import Finding

PEOPLE = (
    "create table people (id int primary key, email text not null, pad text not null)",
    "insert into people select n, 'p' || n || '@example.org', repeat('x', 100) from generate_series(1, 10000) n",
    "analyze people",
)
ONE_PERSON = "select email from people where id = 77"
RESET = ("select pg_stat_statements_reset()", "select pg_stat_reset()")

OUTER = (
    "create table entries (k int not null, kind text not null)",
    "insert into entries select n, 'old' from generate_series(1, 3000) n",
    "create table amounts (k int not null, pad text not null)",
    "insert into amounts select n, repeat('x', 700) from generate_series(1, 100) n",
)
NEW_ENTRIES = "insert into entries select n, 'new' from generate_series(1, 1200) n"
#: A join that cannot be hashed: with a good estimate the inner table is read once and kept.
SUM_OF_NEW = "select count(*) from entries e join amounts a on a.k between e.k and e.k where e.kind = 'new'"


def fill_and_analyze(server: Patient) -> None:
    """In two sessions: one that does both reports its rows after its ANALYZE, and they are counted as new."""
    server.sql(*OUTER)
    server.until("select n_live_tup = 3000 from pg_stat_user_tables where relname = 'entries'")
    server.sql("analyze")


def load_after_analyze(sick: Patient) -> None:
    fill_and_analyze(sick)
    sick.sql(NEW_ENTRIES, *[SUM_OF_NEW] * 3)
    sick.until("select seq_scan >= 3600 from pg_stat_user_tables where relname = 'amounts'")


def update_after_analyze(near: Patient) -> None:
    """As many changes as the load makes, but no value that was not there before."""
    fill_and_analyze(near)
    near.sql(*["update entries set kind = 'old' where k <= 400"] * 3, *[SUM_OF_NEW] * 3)
    near.until("select n_mod_since_analyze = 1200 from pg_stat_user_tables where relname = 'entries'")


def analyze_after_load(near: Patient) -> None:
    near.sql(*OUTER, NEW_ENTRIES, "analyze", *[SUM_OF_NEW] * 3)


def analyze_and_run_again(sick: Patient, found: Finding) -> None:
    sick.sql("analyze entries", *RESET)
    sick.sql(*[SUM_OF_NEW] * 3)


def never_analyze(sick: Patient) -> None:
    sick.sql(*PEOPLE[:2], *["select count(*) from people where email < 'p2'"] * 2)
    sick.until("select seq_scan >= 2 from pg_stat_user_tables where relname = 'people'")


def analyze_once(near: Patient) -> None:
    near.sql(*PEOPLE, *["select count(*) from people where email < 'p2'"] * 2)
    near.until("select seq_scan >= 2 from pg_stat_user_tables where relname = 'people'")


def look_people_up(server: Patient) -> None:
    server.sql(*PEOPLE, *[ONE_PERSON] * 30)
    server.until("select seq_scan + idx_scan >= 30 from pg_stat_user_tables where relname = 'people'")


BATCHES = (
    "create table batches (id int primary key, day int not null)",
    "insert into batches select n, n % 40 from generate_series(1, 10000) n",
    "create index on batches (day)",
    "create table lines (id int primary key, batch_id int not null, pad text not null)",
    "insert into lines select n, n * 7919 % 10000 + 1, repeat('x', 400) from generate_series(1, 10000) n",
    "create index lines_batch_id on lines (batch_id)",
    "vacuum analyze batches",
    "vacuum analyze lines",
)
LINES_OF_A_DAY = "select b.id, l.id from batches b join lines l on l.batch_id = b.id where b.day = 7"


def join_few_rows(server: Patient) -> None:
    server.sql(*BATCHES, *[LINES_OF_A_DAY] * 25)


SAME_KEYS = "create table orders (id int primary key, status text not null, pad text not null)"
ORDERS = (
    SAME_KEYS,
    "insert into orders select n, case when n <= 19995 then 'done' else 'lost' end, repeat('x', 40) "
    "from generate_series(1, 20000) n",
    "create index on orders (status)",
    "vacuum analyze orders",
)
PREPARE = "prepare oldest(text) as select id from orders where status = $1 order by id limit 10"


def ask_for_the_rare(sick: Patient) -> None:
    sick.sql(*ORDERS, PREPARE, *["execute oldest('lost')"] * 40)


def ask_for_the_frequent(near: Patient) -> None:
    near.sql(*ORDERS, PREPARE, *["execute oldest('done')"] * 40)


def join_three(server: Patient) -> None:
    tables = [f"create table t{n} (id int primary key, v int)" for n in (1, 2, 3)]
    joined = "select count(*) from t1 join t2 on t2.id = t1.v join t3 on t3.id = t2.v"
    server.sql(*tables, *[joined] * 12)


def sort_much(server: Patient) -> None:
    server.sql(*["select count(*) from (select n from generate_series(1, 20000) n order by n desc) one"] * 5)


def nothing_more(_: Patient) -> None:
    """The settings are the illness."""


NO_INDEX_PLANS = {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"}
ILLNESSES = (
    Illness(
        pathology="stale-statistics",
        sicken=load_after_analyze,
        near_miss=update_after_analyze,
        names=("public.entries", "rows changed since ANALYZE 1200", "join amounts a on"),
        beside={"table-scanned-in-a-loop": "the plan for one row that the old statistics lead to"},
        majors=("13", "18"),
    ),
    Illness(
        pathology="table-scanned-in-a-loop",
        sicken=load_after_analyze,
        near_miss=analyze_after_load,
        treat=analyze_and_run_again,
        names=("public.amounts", "join amounts a on"),
        beside={"stale-statistics": "what makes the planner expect one row"},
    ),
    Illness(
        pathology="never-analyzed",
        sicken=never_analyze,
        near_miss=analyze_once,
        names=("public.people", "analyzed never"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="cost-settings-extreme",
        sicken=look_people_up,
        near_miss=look_people_up,
        settings={"random_page_cost": "1e300", "cpu_index_tuple_cost": "1e300"},
        near_settings={"random_page_cost": "1.1"},
        names=("random_page_cost", "cpu_index_tuple_cost", "public.people", "select email from people"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="plan-types-disabled",
        sicken=look_people_up,
        near_miss=look_people_up,
        settings=NO_INDEX_PLANS,
        near_settings={"enable_partitionwise_join": "off"},
        names=("enable_indexscan", "public.people", "select email from people"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="random-page-cost-high",
        sicken=join_few_rows,
        near_miss=join_few_rows,
        settings={"random_page_cost": "4"},
        near_settings={"random_page_cost": "1.1"},
        names=("random_page_cost", "public.lines", "join lines l on"),
    ),
    Illness(
        pathology="generic-plan-forced",
        sicken=nothing_more,
        near_miss=nothing_more,
        settings={"plan_cache_mode": "force_generic_plan"},
        near_settings={"plan_cache_mode": "auto"},
        names=("plan_cache_mode", "value force_generic_plan"),
    ),
    Illness(
        pathology="generic-plan-wrong",
        sicken=ask_for_the_rare,
        near_miss=ask_for_the_frequent,
        names=("public.orders.status", "order by id limit"),
    ),
    Illness(
        pathology="join-order-fixed",
        sicken=join_three,
        near_miss=join_three,
        settings={"join_collapse_limit": "1"},
        near_settings={"join_collapse_limit": "8"},
        names=("join_collapse_limit", "tables joined 3"),
    ),
    Illness(
        pathology="statistics-target-low",
        sicken=nothing_more,
        near_miss=nothing_more,
        settings={"default_statistics_target": "10"},
        near_settings={"default_statistics_target": "200"},
        names=("default_statistics_target", "value 10"),
    ),
    Illness(
        pathology="effective-cache-size-small",
        sicken=nothing_more,
        near_miss=nothing_more,
        settings={"effective_cache_size": "8MB"},
        near_settings={"effective_cache_size": "128MB"},
        names=("effective_cache_size", "value 8MB"),
    ),
    Illness(
        pathology="work-mem-small",
        sicken=sort_much,
        near_miss=sort_much,
        settings={"work_mem": "64kB"},
        near_settings={"work_mem": "4MB"},
        names=("work_mem", "order by n desc"),
        majors=("13", "18"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)


ROLE_SETTINGS = (
    ("alter role reporting set enable_seqscan = off", "plan-types-disabled", "enable_seqscan of reporting"),
    ("alter role reporting set random_page_cost = 1000", "cost-settings-extreme", "random_page_cost of reporting"),
    (
        "alter role reporting set plan_cache_mode = force_generic_plan",
        "generic-plan-forced",
        "plan_cache_mode of reporting",
    ),
)


def test_settings_of_a_role_are_found_and_reset() -> None:
    with patient("18", {}) as sick:
        sick.sql("create role reporting", *(statement for statement, _, _ in ROLE_SETTINGS))
        findings = {(finding.pathology, finding.subject): finding for finding in sick.checkup().findings}
        for _, pathology, subject in ROLE_SETTINGS:
            sick.give(findings[pathology, subject].treatments[0])
        left = {(finding.pathology, finding.subject) for finding in sick.checkup().findings}
        assert not left & {(pathology, subject) for _, pathology, subject in ROLE_SETTINGS}


def test_compiling_that_takes_longer_than_it_saves_is_found() -> None:
    """The lab's binaries have no LLVM: the counters of a real snapshot get times of compiled statements."""
    with patient("18", {}) as sick:
        sick.sql(*PEOPLE, *[ONE_PERSON] * 12)
        taken = take_snapshot(sick.access)

    def compiled(share: float) -> list[Seen]:
        statements = tuple(
            replace(statement, jit_ms=share * statement.total_ms) for statement in taken.counters.statements
        )
        counters = replace(taken.counters, statements=statements)
        return list(catalog()["jit-overeager"].detect(Case(replace(taken, counters=counters))))

    (found,) = compiled(0.6)
    assert {one.name for one in found.evidence} >= {"jit", "select email from people where id = $1"}
    assert found.treatments[0].settings == {"jit": "off"}
    assert found.claim is not None
    assert found.claim.fraction == pytest.approx(0.6)
    assert not compiled(0.1)
