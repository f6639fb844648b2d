"""Illnesses of statements: seen on real servers, treated, and gone."""

from __future__ import annotations

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding

PEOPLE = (
    "create table people (id int primary key, email text not null, pad text not null)",
    "insert into people select n, 'p' || n || '@example.org', repeat('x', 100) from generate_series(1, 10000) n",
    "analyze people",
)
RESET = ("select pg_stat_statements_reset()", "select pg_stat_reset()")
FOUR_MORE = [f"select pg_sleep(0), {', '.join(['1'] * n)}" for n in range(1, 5)]


def spend_time_in_one(sick: Patient) -> None:
    sick.sql(*RESET, *FOUR_MORE, *["select pg_sleep(0.1)"] * 20)


def spend_time_in_five(near: Patient) -> None:
    sleeps = [f"select pg_sleep(0.1), {', '.join(['1'] * n)}" for n in range(1, 6)]
    near.sql(*RESET, *sleeps * 4)


def call_the_others_alone(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *FOUR_MORE, "select pg_sleep(0)")


WIDE = (
    "create table wide (id int primary key, v int not null, pad text not null)",
    "alter table wide alter column pad set storage plain",
    "insert into wide select n, n, repeat('x', 900) from generate_series(1, 10000) n",
    "analyze wide",
)
GREATEST = "select id from wide where v > 9999"


def scan_for_one_row(sick: Patient) -> None:
    sick.sql(*WIDE, *[GREATEST] * 25)


def scan_for_one_row_by_index(near: Patient) -> None:
    near.sql(*WIDE, "create index on wide (v)", *[GREATEST] * 25)


def index_and_scan_again(sick: Patient, found: Finding) -> None:
    sick.sql("create index on wide (v)", *RESET, *[GREATEST] * 25)


MANY = [f"create table m{n} (id int primary key, v int)" for n in range(24)]
JOIN_MANY = "select count(*) from m0 " + " ".join(f"join m{n} on m{n}.id = m{n - 1}.v" for n in range(1, 24))


def plan_each_time(sick: Patient) -> None:
    # Other values each time: the driver prepares a text that it has sent five times.
    sick.sql(*MANY, *[f"{JOIN_MANY} where m0.v <> {n}" for n in range(60)])


def plan_once(near: Patient) -> None:
    near.sql(*MANY, f"prepare many as {JOIN_MANY} where m0.v <> 1", *["execute many"] * 25)


def prepare_it(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, f"prepare many as {JOIN_MANY} where m0.v <> 1", *["execute many"] * 25)


def skip_many(sick: Patient) -> None:
    sick.sql(*PEOPLE, *["select id, email from people order by id limit 10 offset 9000"] * 15)


def skip_few(near: Patient) -> None:
    near.sql(*PEOPLE, *["select id, email from people order by id limit 10 offset 20"] * 15)


def ask_for_what_follows(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *["select id, email from people where id > 9000 order by id limit 10"] * 15)


CAST = "select email from people where id::text = '77'"
WIDER = "select email from people where id = 77.0"
PLAIN = "select email from people where id = 77"


def compare_a_cast(sick: Patient) -> None:
    sick.sql(*PEOPLE, *[CAST] * 25)
    sick.until("select seq_scan >= 25 from pg_stat_user_tables where relname = 'people'")


def index_the_cast(near: Patient) -> None:
    near.sql(*PEOPLE, "create index on people ((id::text))", "analyze people", *[CAST] * 25)


def compare_a_numeric(sick: Patient) -> None:
    sick.sql(*PEOPLE, *[WIDER] * 25)
    sick.until("select seq_scan >= 25 from pg_stat_user_tables where relname = 'people'")


def compare_the_column(near: Patient) -> None:
    near.sql(*PEOPLE, *[PLAIN] * 25)


def compare_the_column_from_now_on(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *[PLAIN] * 25)


COUNT_PEOPLE = "select count(*) from people where pad <> ''"
PARALLEL = {"min_parallel_table_scan_size": "0", "parallel_setup_cost": "0", "parallel_tuple_cost": "0"}


def count_in_parallel(server: Patient) -> None:
    server.sql(*PEOPLE, *[COUNT_PEOPLE] * 15)


def allow_workers_and_count_again(sick: Patient, found: Finding) -> None:
    sick.give(found.treatments[0])
    sick.sql(*RESET, *[COUNT_PEOPLE] * 15)


SLOW_FUNCTION = (
    "create function slow(s float) returns int language plpgsql as 'begin perform pg_sleep(s); return 1; end'"
)


def call_a_slow_function(sick: Patient) -> None:
    sick.sql(SLOW_FUNCTION, *RESET, *["select slow(0.05)"] * 40)


def call_a_quick_function(near: Patient) -> None:
    near.sql(SLOW_FUNCTION, *RESET, *["select slow(0)"] * 40, *["select pg_sleep(0.1)"] * 5)


def make_it_quick(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *["select slow(0)"] * 40, "select pg_sleep(0.5)")


SHOP = (
    "create table customers (id int primary key, name text not null)",
    "create table orders (id int primary key, customer_id int not null references customers, day int not null)",
    "insert into customers select n, 'c' || n from generate_series(1, 300) n",
    "insert into orders select n, n % 300 + 1, n % 6 from generate_series(1, 300) n",
    "create index on orders (customer_id)",
    "analyze",
)
LIST = "select id, customer_id from orders where day = 3"
JOINED = "select o.id, c.name from orders o join customers c on c.id = o.customer_id where o.day = 3"


def ask_for_each_row(sick: Patient) -> None:
    sick.sql(*SHOP, *[LIST] * 5, *[f"select name from customers where id = {n + 1}" for n in range(250)])


def ask_by_a_join(near: Patient) -> None:
    near.sql(*SHOP, *[JOINED] * 5, *[f"select name from customers where id = {n + 1}" for n in range(10)])


def join_from_now_on(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *[JOINED] * 5)


COUNT_ALL = "select count(*) from people"


def count_all(sick: Patient) -> None:
    sick.sql(*PEOPLE, *[COUNT_ALL] * 60)
    sick.until("select seq_scan >= 60 from pg_stat_user_tables where relname = 'people'")


#: They read all rows as well, and an estimate of their number answers none of them.
OTHER_SUMS = ("sum(length(pad))", "count(distinct email)", "max(email)", "count(*), sum(id)")


def count_some(near: Patient) -> None:
    near.sql(*PEOPLE, *["select count(*) from people where id < 100"] * 60)
    near.sql(*(f"select {one} from people" for one in OTHER_SUMS for _ in range(60)))
    near.until("select seq_scan >= 240 from pg_stat_user_tables where relname = 'people'")


def read_the_estimate(sick: Patient, found: Finding) -> None:
    sick.sql(*RESET, *["select reltuples from pg_class where relname = 'people'"] * 60)


MANY_PEOPLE = (*PEOPLE, "create index people_email on people (email)")
BY_EMAIL = "select id from people where email = 'p77@example.org';"
NOW_AND_THEN = BY_EMAIL + "\n\\sleep 10 ms"


def drop_an_index_in_use(sick: Patient) -> None:
    sick.sql(*MANY_PEOPLE, *[BY_EMAIL] * 3000, "drop index people_email")
    sick.load(NOW_AND_THEN, clients=2)
    sick.until("select seq_scan >= 3 from pg_stat_user_tables where relname = 'people'")


def keep_the_index(near: Patient) -> None:
    near.sql(*MANY_PEOPLE, *[BY_EMAIL] * 3000)
    near.load(NOW_AND_THEN, clients=2)


def create_it_again(sick: Patient, found: Finding) -> None:
    sick.sql("create index people_email on people (email)")


TEMPORARY = "create temp table scratch (id int, v int)"


def create_temporary_tables(sick: Patient) -> None:
    # A comment each time: the driver prepares a text that it has sent five times, and then it is not counted any more.
    texts = [(f"{TEMPORARY} -- {n}", f"drop table scratch -- {n}") for n in range(120)]
    sick.sql(*RESET, *(text for pair in texts for text in pair))


def reuse_a_temporary_table(near: Patient) -> None:
    near.sql(*RESET, TEMPORARY, *["insert into scratch values (1, 2)", "truncate scratch"] * 120)


def reuse_it_from_now_on(sick: Patient, found: Finding) -> None:
    reuse_a_temporary_table(sick)


ILLNESSES = (
    Illness(
        pathology="counts-whole-table",
        sicken=count_all,
        near_miss=count_some,
        treat=read_the_estimate,
        names=("select count(*) from people", "public.people"),
    ),
    Illness(
        pathology="statement-slower-than-before",
        sicken=drop_an_index_in_use,
        near_miss=keep_the_index,
        treat=create_it_again,
        observe_s=1.5,
        names=("select id from people where email = $1",),
        beside={"missing-index": "what makes it slower"},
    ),
    Illness(
        pathology="temporary-tables-created-often",
        sicken=create_temporary_tables,
        near_miss=reuse_a_temporary_table,
        treat=reuse_it_from_now_on,
        names=("create temp table scratch", "pg_catalog.pg_attribute"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="statement-dominates",
        sicken=spend_time_in_one,
        near_miss=spend_time_in_five,
        treat=call_the_others_alone,
        names=("select pg_sleep($1)",),
    ),
    Illness(
        pathology="reads-many-buffers-per-row",
        sicken=scan_for_one_row,
        near_miss=scan_for_one_row_by_index,
        treat=index_and_scan_again,
        names=("select id from wide where v > $1",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="planning-dominates",
        sicken=plan_each_time,
        near_miss=plan_once,
        treat=prepare_it,
        settings={"pg_stat_statements.track_planning": "on"},
        names=("from m0 join m1", "tables 24"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="offset-paging",
        sicken=skip_many,
        near_miss=skip_few,
        treat=ask_for_what_follows,
        names=("order by id limit $1 offset $2",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="cast-defeats-index",
        sicken=compare_a_cast,
        near_miss=index_the_cast,
        treat=compare_the_column_from_now_on,
        names=("public.people_pkey", "id::text", "public.people"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="cast-defeats-index",
        sicken=compare_a_numeric,
        near_miss=compare_the_column,
        treat=compare_the_column_from_now_on,
        names=("public.people_pkey", "a parameter of another type", "public.people"),
    ),
    Illness(
        pathology="parallel-workers-missing",
        sicken=count_in_parallel,
        near_miss=count_in_parallel,
        treat=allow_workers_and_count_again,
        settings={**PARALLEL, "max_parallel_workers": "0"},
        near_settings=PARALLEL,
        names=("max_parallel_workers", "workers started 0", "select count(*) from people"),
    ),
    Illness(
        pathology="function-time-dominates",
        sicken=call_a_slow_function,
        near_miss=call_a_quick_function,
        treat=make_it_quick,
        settings={"track_functions": "all"},
        names=("public.slow", "calls 40"),
    ),
    Illness(
        pathology="n-plus-one-selects",
        sicken=ask_for_each_row,
        near_miss=ask_by_a_join,
        treat=join_from_now_on,
        names=("select name from customers where id = $1", "select id, customer_id from orders"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
