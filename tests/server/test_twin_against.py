"""``twin check --against``: plans of the original with its own settings, asked by a role without power."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.pg.powers import may_leave_database
from pgclinic.pg.session import Access, Session

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
ORIGINAL = """
create extension pg_stat_statements;
create table item (id int primary key, kind int not null);
create table part (id int primary key, item int not null);
insert into item select n, n % 3 from generate_series(1, 3000) n;
insert into part select n, n % 3000 + 1 from generate_series(1, 3000) n;
create index item_kind on item (kind);
create index part_item on part (item);
analyze;
create role watcher login;
grant pg_monitor to watcher;
grant select on item, part to watcher;
create role powerful login;
"""
STATEMENTS = (
    "select count(id) from item where kind = 1",
    "select count(part.id) from item join part on part.item = item.id where item.kind = 2",
)


@pytest.fixture(scope="module", params=("18", "13"))
def original(request: pytest.FixtureRequest) -> Iterator[Access]:
    with start_server(binaries_for(request.param), settings=SETTINGS) as running:
        access = Access(running.server)
        with session(access) as client:
            client.execute(ORIGINAL)
            for statement in STATEMENTS * 5:
                client.rows(statement)
        yield access


def session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True)


def by(access: Access, role: str) -> Access:
    return replace(access, server=msgspec.structs.replace(access.server, user=role))


def dsn_by(access: Access, role: str) -> str:
    return f"host={access.server.host} port={access.server.port} user={role} dbname={access.server.database}"


@pytest.mark.drawn(0.2)
def test_plans_are_those_of_the_originals_settings(original: Access, tmp_path: Path) -> None:
    command, dsn = Command(tmp_path), dsn_by(original, "watcher")
    captured = command.run("capture", "twin", dsn, "-o", "a.twin")
    assert captured.returncode == 0, captured.stderr
    bindir = str(binaries_for(str(original.major)).bindir)
    ran = command.run(
        "twin", "check", "a.twin", "--bindir", bindir, "--against", dsn, "--time", "1s", "--json", timeout=400
    )
    assert ran.returncode in (0, 3), ran.stderr
    statements = json.loads(ran.stdout)["statements"]
    # By the planner's own defaults both would be read and joined otherwise than on the twin, which has these settings.
    assert [(statement["same_plan"], statement["plan"]) for statement in statements] == [(True, None)] * len(STATEMENTS)


@pytest.mark.parametrize(
    "granted", ["postgres", "pg_execute_server_program", "pg_write_server_files", "pg_read_server_files"]
)
def test_a_role_that_can_leave_the_database_is_known(original: Access, granted: str) -> None:
    with session(original) as client:
        assert not may_leave_database(by(original, "powerful"))
        client.execute(f"grant {granted} to powerful")
        try:
            assert may_leave_database(by(original, "powerful"))
        finally:
            client.execute(f"revoke {granted} from powerful")


def test_whoever_logs_in_as_a_superuser_can_go_back_to_being_one(original: Access) -> None:
    with session(original) as client:
        client.execute("alter role postgres set role = 'watcher'")
        try:
            assert may_leave_database(original)
        finally:
            client.execute("set role none; alter role postgres reset role")
    assert not may_leave_database(by(original, "watcher"))
