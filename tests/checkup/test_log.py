"""Illnesses that the server's log shows: made on real servers, and seen in what they wrote."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases
from pgclinic.capture.server_log import read_server_log
from pgclinic.errors import PgclinicError
from pgclinic.model.finding import Finding
from pgclinic.model.log import LogSettings
from pgclinic.pg.session import QueryError, Session

#: As the lab sets it, and the illnesses below leave it.
SETTINGS = LogSettings(log_line_prefix="%m [%p] ", log_timezone="UTC")
RESTART_LIMIT_S = 30.0


def read_log(patient: Patient, since: int = 0, settings: LogSettings = SETTINGS) -> None:
    """The log from this byte on, as if it had been rotated there."""
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "server.log"
        part.write_bytes(patient.running.log_path.read_bytes()[since:])
        patient.log = read_server_log(part, settings)


def log_size(patient: Patient) -> int:
    return patient.running.log_path.stat().st_size


def rotate(sick: Patient, _: Finding) -> None:
    """From now on nothing of it happens again."""
    since = log_size(sick)
    sick.sql("select pg_reload_conf()")
    read_log(sick, since)


def kill_a_backend(sick: Patient) -> None:
    victim = sick.session("begin", name="victim")
    os.kill(victim.backend_pid, signal.SIGKILL)
    end = time.monotonic() + RESTART_LIMIT_S
    while not _answers(sick):
        assert time.monotonic() < end
        time.sleep(0.1)
    read_log(sick)


def _answers(patient: Patient) -> bool:
    if b"reinitializing" not in patient.running.log_path.read_bytes():
        return False
    with suppress(PgclinicError):
        patient.rows("select 1")
        return True
    return False


def end_a_backend(near: Patient) -> None:
    victim = near.session("begin", name="victim")
    near.end(victim.backend_pid)
    read_log(near)


def want_more_memory_than_there_is(sick: Patient) -> None:
    session = sick.session(name="report")
    pages = int(Path(f"/proc/{session.backend_pid}/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (64 << 20)
    # Not even root may limit the processes of others everywhere: the server's own account does it.
    command = ["prlimit", f"--pid={session.backend_pid}", f"--as={limit}:{limit}"]
    subprocess.run(command, check=True, timeout=30, **account_of(session.backend_pid))
    with pytest.raises(QueryError, match="out of memory"):
        session.execute("select length(repeat('x', 500000000))")
    read_log(sick)


def account_of(pid: int) -> dict[str, Any]:
    status = Path(f"/proc/{pid}").stat()
    return {"user": status.st_uid, "group": status.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}


def fail_otherwise(near: Patient) -> None:
    with pytest.raises(QueryError, match="division by zero"):
        near.sql("select 1 / 0")
    read_log(near)


def connect_too_often(sick: Patient) -> None:
    sick.sql("create role worker login connection limit 1")
    access = replace(sick.access, server=msgspec.structs.replace(sick.access.server, user="worker"))
    with (
        Session(access, statement_timeout_ms=10_000, application_name="app", users_search_path=True),
        pytest.raises(PgclinicError, match="too many connections"),
    ):
        Session(access, statement_timeout_ms=10_000, application_name="app", users_search_path=True)
    read_log(sick)


def connect_once(near: Patient) -> None:
    near.sql("create role worker login connection limit 1")
    access = replace(near.access, server=msgspec.structs.replace(near.access.server, user="worker"))
    with Session(access, statement_timeout_ms=10_000, application_name="app", users_search_path=True):
        read_log(near)


SORT = (
    "select count(*) from (select repeat('x', 100) || n as t from generate_series(1, {}) n order by t desc offset 0) s"
)


def sort_on_disk(sick: Patient) -> None:
    sick.sql(SORT.format(20_000))
    read_log(sick)


def sort_a_little(near: Patient) -> None:
    near.sql(SORT.format(2_000))
    read_log(near)


def sort_in_memory(sick: Patient, found: Finding) -> None:
    since = log_size(sick)
    sick.give(found.treatments[0])
    sick.sql(SORT.format(20_000))
    read_log(sick, since)


def warn(patient: Patient) -> None:
    patient.sql("do $$ begin for n in 1..40 loop raise warning 'warning %', n; end loop; end $$")


def write_another_prefix(sick: Patient) -> None:
    sick.sql("alter system set log_line_prefix to '<%p> '", "select pg_reload_conf()")
    sick.until("select current_setting('log_line_prefix') = '<%p> '")
    warn(sick)
    read_log(sick)


def write_one_prefix(near: Patient) -> None:
    warn(near)
    read_log(near)


def use_one_prefix(sick: Patient, found: Finding) -> None:
    since = log_size(sick)
    sick.give(found.treatments[0])
    prefix = found.treatments[0].settings["log_line_prefix"]
    sick.until("select current_setting('log_line_prefix') <> '<%p> '")
    warn(sick)
    read_log(sick, since, replace_prefix(prefix))


def replace_prefix(prefix: str) -> LogSettings:
    return LogSettings(log_line_prefix=prefix, log_timezone="UTC")


#: Every country has cities of its own, so its name says nothing that the city has not said. ANALYZE reads all of it.
ADDRESSES = (
    "create table addresses (id int primary key, city text not null, country text not null)",
    "insert into addresses select n, 'c' || n % 100, 'k' || n % 100 from generate_series(1, 20000) n",
)
EXPLAINED = (
    "load 'auto_explain'",
    "set auto_explain.log_min_duration = 0",
    "set auto_explain.log_analyze = on",
)
OF_A_CITY = "select count(*) from addresses where city = 'c7' and country = 'k7'"


def fill_addresses(patient: Patient) -> None:
    """In a session of its own, or its rows are counted behind the ANALYZE."""
    patient.sql(*ADDRESSES)
    patient.until("select n_live_tup = 20000 from pg_stat_user_tables where relname = 'addresses'")
    patient.sql("vacuum analyze addresses")


def ask_for_both(sick: Patient) -> None:
    fill_addresses(sick)
    sick.sql(*EXPLAINED, *[OF_A_CITY] * 3)
    read_log(sick)


def ask_for_one(near: Patient) -> None:
    fill_addresses(near)
    near.sql(*EXPLAINED, *["select count(*) from addresses where city = 'c7' and id > 0"] * 3)
    read_log(near)


def keep_joint_statistics(sick: Patient, found: Finding) -> None:
    since = log_size(sick)
    sick.give(found.treatments[0])
    sick.sql(*EXPLAINED, *[OF_A_CITY] * 3)
    read_log(sick, since)


ILLNESSES = (
    Illness(
        pathology="row-estimate-wrong",
        sicken=ask_for_both,
        near_miss=ask_for_one,
        treat=keep_joint_statistics,
        names=("public.addresses (city, country)", "rows expected 2", "rows that came 200"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="server-crashed",
        sicken=kill_a_backend,
        near_miss=end_a_backend,
        treat=rotate,
        names=("crashes 1", "processes ended by SIGKILL 1"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="out-of-memory",
        sicken=want_more_memory_than_there_is,
        near_miss=fail_otherwise,
        treat=rotate,
        names=("ERROR: out of memory",),
    ),
    Illness(
        pathology="connections-refused",
        sicken=connect_too_often,
        near_miss=connect_once,
        treat=rotate,
        names=("connections refused 1",),
        majors=("13", "18"),
    ),
    Illness(
        pathology="temporary-files-logged",
        settings={"work_mem": "64kB", "log_temp_files": "0"},
        sicken=sort_on_disk,
        near_miss=sort_a_little,
        treat=sort_in_memory,
        names=("work_mem", "from generate_series"),
        beside={"work-mem-small": "the same temporary files, by the server's counters"},
    ),
    Illness(
        pathology="log-not-readable",
        sicken=write_another_prefix,
        near_miss=write_one_prefix,
        treat=use_one_prefix,
        names=("log_line_prefix", "value <%p>"),
    ),
    Illness(
        pathology="autovacuum-canceled",
        sicken=lambda sick: cancel_vacuums(sick, 6),
        near_miss=lambda near: cancel_vacuums(near, 0),
        treat=rotate,
        names=("canceling autovacuum task",),
    ),
)


def cancel_vacuums(patient: Patient, count: int) -> None:
    """Automatic vacuums cannot be met in seconds: their message is written by RAISE, as an error of the server."""
    for _ in range(count):
        with pytest.raises(QueryError, match="canceling"):
            patient.sql("do $$ begin raise exception 'canceling autovacuum task'; end $$")
    read_log(patient)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
