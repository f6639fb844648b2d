"""A twin of a database without an encoding, whose names and texts are bytes of Latin-1, is captured and built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.captured import column_of, table_of
from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.lab.instance import start_server
from pgclinic.pg.session import Access, Session
from pgclinic.twin.build import build_twin
from pgclinic.twin.file import read_twin

SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}
#: Two names that differ in a byte that is no UTF-8, and a name that is UTF-8.
ORIGINAL = """
create extension pg_stat_statements;
create type mood as enum ('z\u00e9l\u00e9');
create table "caf\u00e9" (id int primary key, "na\u00efve" text not null, mood mood);
create table "caf\u00e8" (id int, "caf\u00e9" int references "caf\u00e9");
insert into "caf\u00e9" select n, 'Zo\u00eb ' || n % 5, 'z\u00e9l\u00e9' from generate_series(1, 500) n;
insert into "caf\u00e8" select n, n from generate_series(1, 100) n;
create index on "caf\u00e9" ("na\u00efve") where "na\u00efve" <> 'Zo\u00eb 9';
analyze;
"""


@pytest.fixture(scope="module", params=("18", "13"))
def access(request: pytest.FixtureRequest) -> Iterator[Access]:
    with start_server(binaries_for(request.param), settings=SETTINGS) as running:
        with session(Access(running.server)) as client:
            client.execute("create database other encoding 'sql_ascii' locale 'C' template template0")
        there = Access(msgspec.structs.replace(running.server, database="other"))
        with session(there) as client:
            # A program that takes the server for one of Latin-1: no byte is changed on the way.
            client.execute("set client_encoding to latin1")
            client.execute(ORIGINAL)
            client.rows('select count(*) from "caf\u00e9" where "na\u00efve" = \'Zo\u00eb 1\'')
        with session(there) as client:
            client.execute('create table "th\u00e9" (id int)')
        yield there


def session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True)


def test_a_twin_of_any_bytes_is_captured_and_built(access: Access, tmp_path: Path) -> None:
    server = access.server
    dsn = f"host={server.host} port={server.port} user={server.user} dbname=other"
    for words in ((), ("--with-values", "--force")):
        ran = Command(tmp_path).run("capture", "twin", dsn, "-o", "a.twin", *words)
        assert ran.returncode == 0, ran.stderr
        twin = read_twin(tmp_path / "a.twin")
        assert {table.name for table in twin.tables} == {
            'public."caf\\xe9"',
            'public."caf\\xe8"',
            'public."th\u00e9"',
        }
        assert any('from "caf\\xe9" where "na\\xefve" = $1' in statement.text for statement in twin.workload.statements)
        assert "Zo\\xeb 9" in next(one.statement for one in twin.objects if "WHERE" in one.statement)
        with start_server(binaries_for(str(access.major)), settings={}) as empty:
            built = build_twin(Access(empty.server), twin)
        assert built.left_out == ()
        assert built.rows['public."caf\\xe9"'] == 500
    values = column_of(twin, 'public."caf\\xe9"', "na\\xefve").statistics
    assert values is not None
    assert set(values.common_values) == {f"Zo\\xeb {n}" for n in range(5)}
    assert len(table_of(twin, 'public."caf\\xe8"').columns) == 2


def test_a_snapshot_of_any_bytes_has_its_statements(access: Access) -> None:
    taken = take_snapshot(access)
    assert not {gap.what for gap in taken.gaps} & {"counters.statements", "statement_texts", "tables", "columns"}
    assert any("count(*)" in text.text for text in taken.statement_texts)
