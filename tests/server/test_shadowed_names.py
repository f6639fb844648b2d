"""Whoever owns a database cannot have functions of his own called by a superuser who examines it with pgclinic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.lab_home import binaries_for
from fixtures.owner_session import owner_session
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.observe.pages import page_facts
from pgclinic.pg.query_files import QUERIES
from pgclinic.pg.session import Access

PLANT = Path(__file__).parents[1] / "fixtures" / "shadows.sql"
SHADOW = "shadow of "
#: With a load of its own, a second connection finds this to observe.
SCRIPT = "select pg_catalog.pg_sleep(0.01);\n"
SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "shared_preload_libraries": "pg_stat_statements",
    "log_line_prefix": "%m [%p] %a ",
}


@pytest.fixture(scope="module", params=("18", *drawn_majors("shadows", ("17", "16", "15", "14", "13"))))
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A server with a database of mallory, who has no rights elsewhere, and with the extension in a schema of his."""
    with start_server(binaries_for(request.param), settings=SETTINGS) as running:
        with owner_session(running, "postgres") as client:
            client.execute("create role mallory login")
            client.execute("create database app owner mallory")
        with owner_session(running, "app") as client:
            client.execute("create schema ext authorization mallory")
            client.execute("create extension pg_stat_statements schema ext")
            client.execute("create extension pageinspect schema public")
            client.execute("set session authorization mallory")
            client.execute("create table public.orders (id int primary key, note varchar(20))")
            client.execute("insert into public.orders select n, 'note' from generate_series(1, 2000) as n")
            client.execute("create view public.recent as select id from public.orders where id > 10")
            client.execute("analyze")
        for schema in ("public", "ext"):
            with owner_session(running, "app") as client:
                client.execute("set session authorization mallory")
                client.execute(planted(schema))
        with owner_session(running, "app") as client:
            client.execute("set session authorization mallory")
            client.execute("alter database app set search_path = public, ext, pg_catalog")
        yield running


def planted(schema: str) -> str:
    """The text that makes shadows of all that the queries of the package call."""
    calls = {
        name
        for path in QUERIES.glob("*.sql")
        for name in re.findall(r"\b([a-z_][a-z_0-9]*)\(", path.read_text(encoding="utf-8"))
    }
    names = ", ".join(
        f"'{name}'" for name in sorted(calls | {"set_config", "current_setting", "json_agg", "to_regclass"})
    )
    return PLANT.read_text(encoding="utf-8").replace(":schema", schema).replace(":names", names)


def dsn(running: RunningServer) -> str:
    server = running.server
    return f"host={server.host} port={server.port} user={server.user} dbname=app"


def shadows_called(running: RunningServer, since: int) -> list[str]:
    with running.log_path.open(encoding="utf-8", errors="replace") as log:
        log.seek(since)
        return [line for line in log if SHADOW in line]


def test_the_shadows_are_called_where_names_are_looked_up(server: RunningServer) -> None:
    since = server.log_path.stat().st_size
    with owner_session(server, "app") as client:
        client.rows("select clock_timestamp(), 'a'::text <> 'b'::text, concat_ws(', '::text, 'a'::name, 'b'::text)")
    called = shadows_called(server, since)
    assert {"clock_timestamp", "<>", "concat_ws"} <= {line.split()[-1] for line in called}
    assert any("shadow of type" in line for line in called)


@pytest.mark.parametrize(
    "line",
    (
        "checkup DSN --json",
        "checkup DSN --observe 2s --json",
        "capture snapshot DSN",
        "capture twin DSN --observe 2s",
        "capture horizon DSN --for 2s",
        "bench -f script.sql -n -T 2 --observe -d DSN",
        "bench -i -s 1 -d DSN",
        "compare --dsn DSN --existing --script script.sql --a clients=1 --b clients=2 --measure 1s --blocks 4",
        "lab leftovers DSN",
    ),
)
def test_no_command_calls_a_shadow(server: RunningServer, line: str, command: Command) -> None:
    (command.folder / "script.sql").write_text(SCRIPT, encoding="utf-8")
    since = server.log_path.stat().st_size
    done = command.run(*(dsn(server) if word == "DSN" else word for word in line.split()))
    assert shadows_called(server, since) == []
    assert done.returncode in (0, 4, 5), done.stderr


def test_pages_are_looked_into_without_a_shadow(server: RunningServer) -> None:
    since = server.log_path.stat().st_size
    app = replace(server.server, database="app")
    facts = page_facts(Access(app), "orders", "orders_pkey", probe=None)
    assert shadows_called(server, since) == []
    assert facts.heap is not None, facts.missing
    assert facts.leaves is not None, facts.missing
    assert facts.leaves.entries > 0
