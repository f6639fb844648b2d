"""Illnesses of transaction IDs, sequences and keys: seen on real servers, treated, and gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress

import msgspec
import pytest

from fixtures.old_ids import server_with_old_rows
from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.errors import PgclinicError
from pgclinic.lab.instance import RunningServer
from pgclinic.model.finding import Finding
from pgclinic.pg.session import Access, Session

#: The smallest limit that the server takes for autovacuum_freeze_max_age.
LIMIT = 100_000
USE_TRANSACTIONS = (
    "set synchronous_commit = off",
    f"do $$ begin for n in 1..{LIMIT + 10_000} loop perform txid_current(); commit; end loop; end $$",
)
#: Of the first transaction ID in a file of the commit log, so that no file has to be there before.
SEGMENT_OF_TRANSACTIONS, SEGMENT_OF_MULTIXACTS = 1 << 20, 1 << 16


def with_next_transaction(segments: int) -> Callable[[str, Mapping[str, str]], AbstractContextManager[RunningServer]]:
    return lambda major, settings: server_with_old_rows(major, settings, "-x", str(segments * SEGMENT_OF_TRANSACTIONS))


def with_next_multixact(segments: int) -> Callable[[str, Mapping[str, str]], AbstractContextManager[RunningServer]]:
    return lambda major, settings: server_with_old_rows(major, settings, "-m", f"{segments * SEGMENT_OF_MULTIXACTS},1")


def as_it_is(patient: Patient) -> None:
    """What makes the illness is the server itself."""


def freeze_all_databases(sick: Patient, found: Finding) -> None:
    """The finding's own statement in every database; to the one that takes no connections they are allowed first."""
    statement = next(treatment.sql for treatment in found.treatments if not treatment.prevents)
    sick.sql("alter database template0 allow_connections true")
    for (name,) in sick.rows("select datname from pg_database"):
        assert isinstance(name, str)
        there = Access(msgspec.structs.replace(sick.running.server, database=name))
        with Session(there, statement_timeout_ms=60_000, application_name="app", users_search_path=True) as session:
            for one in statement:
                session.execute(one)


def force_a_vacuum(sick: Patient) -> None:
    """Of a table that takes minutes, as it sleeps 100 ms at each of its 900 pages. The default limit forces none."""
    sick.sql(
        "create table ledger (id int primary key, v int not null) with (fillfactor = 10, "
        "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, "
        "autovacuum_vacuum_insert_threshold = -1)",
        "insert into ledger select n, 0 from generate_series(1, 20000) n",
        *USE_TRANSACTIONS,
    )
    sick.until(
        f"select current_setting('autovacuum_freeze_max_age')::int > {LIMIT} or exists "
        "(select from pg_stat_progress_vacuum join pg_stat_activity using (pid) "
        "where query ~ 'ledger.*to prevent wraparound')",
        limit_s=60,
    )


def sequence_at(value: int) -> Callable[[Patient], None]:
    return lambda patient: patient.sql("create sequence tickets maxvalue 1000", f"select setval('tickets', {value})")


def key_at(value: int) -> Callable[[Patient], None]:
    return lambda patient: patient.sql(
        "create table orders (id serial primary key, v int)",
        f"select setval('orders_id_seq', {value})",
        "insert into orders (v) values (1)",
        "vacuum analyze orders",
    )


def lose_a_session(sick: Patient) -> None:
    """Killed by a signal; the server restarts. Sessions before it have the numbers that later ones get."""
    for number in range(8):
        sick.session("select 1", name=f"app {number}")
    lost = sick.session("create temporary table basket (id int)", name="shop")
    os.kill(lost.backend_pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)
        with suppress(PgclinicError):
            if sick.rows("select pg_postmaster_start_time() is not null and not pg_is_in_recovery()"):
                return
    pytest.fail("the server did not come back")


def keep_a_session(near: Patient) -> None:
    near.session("create temporary table basket (id int)", name="shop")


def make_a_temporary_table_old(sick: Patient) -> None:
    sick.session("create temporary table basket (id int)", name="shop")
    sick.sql(*USE_TRANSACTIONS)


def make_a_temporary_table_late(near: Patient) -> None:
    near.sql(*USE_TRANSACTIONS)
    near.session("create temporary table basket (id int)", name="shop")


ILLNESSES = (
    Illness(
        pathology="wraparound-near",
        start=with_next_transaction(1_622),
        sicken=as_it_is,
        treat=freeze_all_databases,
        near_start=with_next_transaction(900),
        near_miss=as_it_is,
        names=("postgres", "template0", "autovacuum_freeze_max_age"),
    ),
    Illness(
        pathology="multixact-wraparound-near",
        start=with_next_multixact(25_900),
        sicken=as_it_is,
        treat=freeze_all_databases,
        near_start=with_next_multixact(15_000),
        near_miss=as_it_is,
        names=("postgres", "template0", "autovacuum_multixact_freeze_max_age"),
    ),
    Illness(
        pathology="forced-vacuums",
        settings={"autovacuum_freeze_max_age": str(LIMIT), "autovacuum_naptime": "1s"},
        sicken=force_a_vacuum,
        near_settings={"autovacuum_naptime": "1s"},
        near_miss=force_a_vacuum,
        names=("autovacuum_freeze_max_age", "public.ledger"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="sequence-nearly-exhausted",
        sicken=sequence_at(900),
        near_miss=sequence_at(700),
        names=("public.tickets", "last value 900"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="integer-key-nearly-full",
        sicken=key_at(1_900_000_000),
        near_miss=key_at(1_500_000_000),
        names=("public.orders.id", "public.orders_id_seq"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="orphaned-temporary-tables",
        sicken=lose_a_session,
        near_miss=keep_a_session,
        names=("temporary tables", ".basket"),
    ),
    Illness(
        pathology="old-temporary-tables",
        settings={"autovacuum_freeze_max_age": str(LIMIT)},
        sicken=make_a_temporary_table_old,
        near_miss=make_a_temporary_table_late,
        names=("shop", ".basket"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
