"""Illnesses of indexes, keys and tables: seen on real servers, treated, and gone."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.pg.session import QueryError

PEOPLE = (
    "create table people (id int primary key, email text not null, pad text not null)",
    "insert into people select n, 'p' || n || '@example.org', repeat('x', 100) from generate_series(1, 10000) n",
    "analyze people",
)
FIND_A_PERSON = "select id from people where email = 'p77@example.org'"


def miss_an_index(sick: Patient) -> None:
    sick.sql(*PEOPLE, *[FIND_A_PERSON] * 30)
    sick.until("select seq_scan >= 30 from pg_stat_user_tables where relname = 'people'")


def have_the_index(near: Patient) -> None:
    near.sql(*PEOPLE, "create index on people (email)", *[FIND_A_PERSON] * 30)
    near.until("select idx_scan >= 30 from pg_stat_user_tables where relname = 'people'")


EVENTS = (
    "create table events (id int primary key, kind int not null)",
    "create index events_kind on events (kind)",
    "insert into events select n, n % 50 from generate_series(1, 1500) n",
    "analyze events",
)
LOOK_UP_EVENTS = ("do $$ begin for n in 1..1200 loop perform from events where id = n; end loop; end $$",)
BY_KIND = ("set enable_seqscan = off", "select count(*) from events where kind = 7")


def leave_an_index_unused(sick: Patient) -> None:
    sick.sql(*EVENTS, *LOOK_UP_EVENTS)
    sick.until("select idx_scan >= 1200 from pg_stat_user_tables where relname = 'events'")


def use_the_index_once(near: Patient) -> None:
    near.sql(*EVENTS, *LOOK_UP_EVENTS, *BY_KIND)
    near.until("select idx_scan >= 1 from pg_stat_user_indexes where indexrelname = 'events_kind'")


def index_the_same_twice(sick: Patient) -> None:
    sick.sql(*EVENTS, "create index events_kind_again on events (kind)")


def index_another_order(near: Patient) -> None:
    near.sql(*EVENTS, "create index events_kind_again on events (kind desc)")


def index_the_beginning_of_another(sick: Patient) -> None:
    sick.sql(*EVENTS, "create index events_kind_id on events (kind, id)")


def index_the_end_of_another(near: Patient) -> None:
    near.sql(*EVENTS, "create index events_id_kind on events (id, kind)")


def fail_to_build_an_index(sick: Patient) -> None:
    sick.sql(*EVENTS)
    with suppress(QueryError):
        sick.sql("create unique index concurrently events_unique on events (kind)")
    sick.sql("insert into events select n, 1 from generate_series(2001, 3100) n")
    sick.until("select n_tup_ins >= 2600 from pg_stat_user_tables where relname = 'events'")


def build_the_index(near: Patient) -> None:
    near.sql(*EVENTS, "create unique index concurrently events_unique on events (kind, id)")
    near.sql("insert into events select n, 1 from generate_series(2001, 3100) n")


FAMILY = (
    "create table parent (id int primary key)",
    "create table child (id int primary key, parent_id int references parent)",
    "insert into parent select n from generate_series(1, 1000) n",
    "insert into child select n, n % 900 + 1 from generate_series(1, 3000) n",
    "analyze",
)
DELETE_PARENTS = "delete from parent where id > 960"


def delete_without_an_index(sick: Patient) -> None:
    sick.sql(*FAMILY, DELETE_PARENTS)
    sick.until("select seq_scan >= 40 from pg_stat_user_tables where relname = 'child'")


def delete_with_an_index(near: Patient) -> None:
    near.sql(*FAMILY, "create index on child (parent_id)", DELETE_PARENTS)
    near.until("select n_tup_del = 40 from pg_stat_user_tables where relname = 'parent'")


def of_types(parent: str, child: str) -> tuple[str, ...]:
    return (
        f"create table parent (id {parent} primary key)",
        f"create table child (id int primary key, parent_id {child} references parent)",
        "create index on child (parent_id)",
        *FAMILY[2:],
        DELETE_PARENTS,
    )


def reference_another_type(sick: Patient) -> None:
    sick.sql(*of_types("numeric", "int"))
    sick.until("select seq_scan >= 40 from pg_stat_user_tables where relname = 'child'")


def reference_a_wider_integer(near: Patient) -> None:
    near.sql(*of_types("bigint", "int"))
    near.until("select n_tup_del = 40 from pg_stat_user_tables where relname = 'parent'")


UNCHECKED = (
    "create table parent (id int primary key)",
    "create table child (id int primary key, parent_id int)",
    "create index on child (parent_id)",
    *FAMILY[2:],
    "alter table child add constraint has_parent foreign key (parent_id) references parent not valid",
)


def do_not_validate(sick: Patient) -> None:
    sick.sql(*UNCHECKED)


def validate(near: Patient) -> None:
    near.sql(*UNCHECKED, "alter table child validate constraint has_parent")


CHANGE_ITEMS = "update items set price = price + 1 where id <= 1100"
FILL_ITEMS = "insert into items select n, 1 from generate_series(1, 8000) n"
SUBSCRIBE = "select pg_create_logical_replication_slot('subscriber', 'pgoutput')"


def replicate_whole_rows(sick: Patient) -> None:
    sick.sql("create table items (id int, price int)", "alter table items replica identity full", SUBSCRIBE)
    sick.sql(FILL_ITEMS, CHANGE_ITEMS)
    sick.until("select n_tup_upd = 1100 from pg_stat_user_tables where relname = 'items'")


def replicate_by_key(near: Patient) -> None:
    near.sql("create table items (id int primary key, price int)", SUBSCRIBE)
    near.sql(FILL_ITEMS, CHANGE_ITEMS)
    near.until("select n_tup_upd = 1100 from pg_stat_user_tables where relname = 'items'")


def readings(value: str) -> tuple[str, ...]:
    return (
        "create table readings (at int not null, pad text not null)",
        f"insert into readings select {value}, repeat('x', 100) from generate_series(1, 8000) n",
        "create index readings_at on readings using brin (at)",
        "analyze readings",
    )


def scatter_the_values(sick: Patient) -> None:
    sick.sql(*readings("n * 7919 % 8000"))


def keep_the_order(near: Patient) -> None:
    near.sql(*readings("n"))


ILLNESSES = (
    Illness(
        pathology="missing-index",
        sicken=miss_an_index,
        near_miss=have_the_index,
        names=("public.people (email)", "select id from people where email = $1"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="unused-indexes",
        sicken=leave_an_index_unused,
        near_miss=use_the_index_once,
        names=("public.events", "public.events_kind"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="duplicate-indexes",
        sicken=index_the_same_twice,
        near_miss=index_another_order,
        names=("public.events_kind", "public.events_kind_again"),
    ),
    Illness(
        pathology="redundant-indexes",
        sicken=index_the_beginning_of_another,
        near_miss=index_the_end_of_another,
        names=("public.events_kind", "events_kind_id"),
    ),
    Illness(
        pathology="invalid-indexes",
        sicken=fail_to_build_an_index,
        near_miss=build_the_index,
        names=("public.events_unique", "table public.events"),
    ),
    Illness(
        pathology="foreign-key-without-index",
        sicken=delete_without_an_index,
        near_miss=delete_with_an_index,
        names=("public.child.child_parent_id_fkey", "references public.parent (id)"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="foreign-key-type-mismatch",
        sicken=reference_another_type,
        near_miss=reference_a_wider_integer,
        names=("public.child", "integer, references numeric"),
    ),
    Illness(
        pathology="foreign-key-not-validated",
        sicken=do_not_validate,
        near_miss=validate,
        names=("public.child", "has_parent"),
    ),
    Illness(
        pathology="table-without-key",
        sicken=replicate_whole_rows,
        near_miss=replicate_by_key,
        settings={"wal_level": "logical"},
        names=("public.items", "replica identity full", "subscriber"),
    ),
    Illness(
        pathology="brin-index-without-order",
        sicken=scatter_the_values,
        near_miss=keep_the_order,
        names=("public.readings_at", "public.readings"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
