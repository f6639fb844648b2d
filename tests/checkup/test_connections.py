"""Illnesses of connections and their memory: seen on real servers, treated, and gone."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

import msgspec
import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.model.finding import Finding
from pgclinic.pg.session import Session


def sessions(patient: Patient, count: int, name: str) -> None:
    for _ in range(count):
        patient.session(name=name)


def as_role(patient: Patient, role: str) -> Session:
    """A session of another role, which stays open."""
    access = replace(patient.access, server=msgspec.structs.replace(patient.access.server, user=role))
    opened = Session(access, statement_timeout_ms=10_000, application_name="app", users_search_path=True)
    patient.stack.callback(opened.close)
    return opened


def take_nearly_all_connections(sick: Patient) -> None:
    sessions(sick, 16, "pool")


def take_some_connections(near: Patient) -> None:
    sessions(near, 12, "pool")


def be_idle_in_crowds(sick: Patient) -> None:
    sessions(sick, 102, "crowd")
    sick.until("select true from pg_sleep(2.2)")


def be_idle_in_a_pool(near: Patient) -> None:
    sessions(near, 40, "crowd")
    near.until("select true from pg_sleep(2.2)")


def connect_for_each_statement(sick: Patient) -> None:
    for number in range(110):
        sick.rows(f"select {number}")
    sick.until("select sessions - numbackends >= 100 from pg_stat_database where datname = current_database()")


def connect_once(near: Patient) -> None:
    near.session(*(f"select {number}" for number in range(110)))


def use_a_pool(sick: Patient, _: Finding) -> None:
    sick.sql("select pg_stat_reset()")
    connect_once(sick)


def partitions(patient: Patient, count: int) -> None:
    patient.sql(
        "create table wide (id int, day int) partition by hash (id)",
        f"do $$ begin for n in 0..{count - 1} loop execute format('create table wide_%s partition of wide "
        f"for values with (modulus {count}, remainder %s)', n, n); end loop; end $$",
        "create index on wide (id)",
    )


def touch_hundreds_of_relations(sick: Patient) -> None:
    partitions(sick, 260)
    sick.session("begin", "select count(*) from wide where day = 1", name="report")


def touch_some_relations(near: Patient) -> None:
    partitions(near, 50)
    near.session("begin", "select count(*) from wide where day = 1", name="report")


def end_the_report(sick: Patient, found: Finding) -> None:
    (pid,) = (one.pid for one in found.evidence if one.pid is not None)
    sick.end(pid)
    sick.until("select count(*) = 0 from pg_stat_activity where application_name = 'report'")


def reach_a_role_s_limit(sick: Patient) -> None:
    sick.sql("create role worker login connection limit 3")
    for _ in range(3):
        as_role(sick, "worker")


def stay_below_a_role_s_limit(near: Patient) -> None:
    near.sql("create role worker login connection limit 10")
    for _ in range(3):
        as_role(near, "worker")


def abandon(patient: Patient, count: int) -> None:
    """Clients whose process is gone: their sockets close without the message that ends a session."""
    for _ in range(count):
        opened = patient.session("select 1")
        descriptor = opened._connection.fileno()
        with socket.socket(fileno=os.dup(descriptor)) as end:
            end.shutdown(socket.SHUT_RDWR)
    patient.until(f"select sessions_abandoned >= {count} from pg_stat_database where datname = current_database()")


def notice_lost_clients(sick: Patient, found: Finding) -> None:
    sick.give(found.treatments[0])
    sick.sql("select pg_stat_reset()")


ILLNESSES = (
    Illness(
        pathology="connections-near-limit",
        settings={"max_connections": "20"},
        sicken=take_nearly_all_connections,
        near_miss=take_some_connections,
        names=("max_connections", "application pool"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="idle-connections",
        settings={"max_connections": "150"},
        sicken=be_idle_in_crowds,
        near_miss=be_idle_in_a_pool,
        names=("application crowd",),
    ),
    Illness(
        pathology="connection-per-transaction",
        sicken=connect_for_each_statement,
        near_miss=connect_once,
        treat=use_a_pool,
        names=("database postgres",),
        majors=("14", "18"),
    ),
    Illness(
        pathology="relation-cache-memory",
        sicken=touch_hundreds_of_relations,
        near_miss=touch_some_relations,
        treat=end_the_report,
        names=("report",),
        beside={
            "fast-path-locks-exhausted": "each of the relations is locked, far more than there are fast-path slots",
            "partitions-too-many": "hundreds without rows are what fills the caches",
        },
    ),
    Illness(
        pathology="sessions-abandoned",
        sicken=lambda sick: abandon(sick, 10),
        near_miss=lambda near: abandon(near, 3),
        treat=notice_lost_clients,
        names=("database postgres", "sessions abandoned by their clients 10"),
        majors=("14", "18"),
    ),
    Illness(
        pathology="role-limit-near",
        sicken=reach_a_role_s_limit,
        near_miss=stay_below_a_role_s_limit,
        names=("role worker",),
        majors=("13", "18"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
