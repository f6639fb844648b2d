"""Illnesses of partitioned tables: seen on real servers, treated, and gone."""

from __future__ import annotations

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding


def partitioned(patient: Patient, name: str, count: int) -> None:
    """A table of so many hash partitions by its id."""
    patient.sql(
        f"create table {name} (id int, day int, value int) partition by hash (id)",
        f"do $$ begin for n in 0..{count - 1} loop execute format('create table {name}_%s partition of {name} "
        f"for values with (modulus {count}, remainder %s)', n, n); end loop; end $$",
    )


def measures(patient: Patient) -> None:
    partitioned(patient, "measures", 8)
    patient.sql("insert into measures select n, n % 30, n from generate_series(1, 800) n", "analyze measures")


def ask_without_the_key(sick: Patient) -> None:
    measures(sick)
    sick.sql(*("select sum(value) from measures where day = 3" for _ in range(40)))


def ask_with_the_key(near: Patient) -> None:
    measures(near)
    near.sql(*("select sum(value) from measures where id = 3 and day = 3" for _ in range(40)))


def name_the_key(sick: Patient, _: Finding) -> None:
    sick.sql("select pg_stat_reset()", "select pg_stat_statements_reset()")
    sick.sql(*("select sum(value) from measures where id = 3 and day = 3" for _ in range(40)))


def divide_a_small_table(sick: Patient) -> None:
    partitioned(sick, "tiny", 110)
    sick.sql("insert into tiny select n, n, n from generate_series(1, 1000) n")


def divide_it_by_ten(near: Patient) -> None:
    partitioned(near, "tiny", 10)
    near.sql("insert into tiny select n, n, n from generate_series(1, 1000) n")


def merge_partitions(sick: Patient, _: Finding) -> None:
    sick.sql("create table merged as table tiny", "drop table tiny", "alter table merged rename to tiny")


def events(patient: Patient, day: int) -> None:
    patient.sql(
        "create table events (day int, value int) partition by range (day)",
        "create table events_early partition of events for values from (0) to (100)",
        "create table events_other partition of events default",
        f"insert into events select {day}, n from generate_series(1, 100) n",
    )


def create_the_missing_partition(sick: Patient, _: Finding) -> None:
    sick.sql(
        "alter table events detach partition events_other",
        "create table events_late partition of events for values from (100) to (200)",
        "insert into events table events_other",
        "drop table events_other",
        "create table events_other partition of events default",
    )


def orders(patient: Patient) -> None:
    partitioned(patient, "orders", 4)
    patient.sql("insert into orders select n, n % 30, n from generate_series(1, 12000) n")


def analyze_partitions_alone(sick: Patient) -> None:
    orders(sick)
    sick.sql(*(f"analyze orders_{number}" for number in range(4)))


def analyze_all(near: Patient) -> None:
    orders(near)
    near.sql("analyze orders")


ILLNESSES = (
    Illness(
        pathology="partitions-unpruned",
        sicken=ask_without_the_key,
        near_miss=ask_with_the_key,
        treat=name_the_key,
        names=("table public.measures", "from measures where day"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="partitions-too-many",
        sicken=divide_a_small_table,
        near_miss=divide_it_by_ten,
        treat=merge_partitions,
        names=("table public.tiny", "partitions 110"),
    ),
    Illness(
        pathology="default-partition-in-use",
        sicken=lambda sick: events(sick, 150),
        near_miss=lambda near: events(near, 50),
        treat=create_the_missing_partition,
        names=("table public.events_other", "default partition of public.events"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="partitioned-table-never-analyzed",
        sicken=analyze_partitions_alone,
        near_miss=analyze_all,
        names=("table public.orders",),
        majors=("13", "18"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
