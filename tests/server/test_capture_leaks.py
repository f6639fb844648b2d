"""What was captured of a server says no more than its statistics and statements need, and is its owner's alone."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session

SETTINGS = {"fsync": "off", "autovacuum": "off", "shared_preload_libraries": "pg_stat_statements"}
SECRETS = ("SECRET_BLOCK", "SECRET_NESTED", "SECRET_LINE")
STATEMENT = "select note /* SECRET_BLOCK /* x */ SECRET_NESTED */ from orders where id = {} -- SECRET_LINE"


@pytest.fixture(scope="module", params=("18", *drawn_majors("leaks", ("17", "14", "13"))))
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with start_server(binaries_for(request.param), settings=SETTINGS) as running:
        with session_of(running, "postgres") as client:
            client.execute("create extension pg_stat_statements")
            client.execute("create table orders (id int primary key, note text)")
            client.execute("insert into orders select n, 'note ' || n from generate_series(1, 3000) as n")
            client.execute("analyze; create role reader login; grant pg_monitor to reader")
            client.execute("grant select on orders to reader")
            for number in range(50):
                client.rows(STATEMENT.format(number))
        yield running


def session_of(running: RunningServer, database: str, application: str = "owner") -> Session:
    return Session(
        Access(replace(running.server, database=database)),
        statement_timeout_ms=60_000,
        application_name=application,
        users_search_path=True,
    )


def dsn(running: RunningServer, database: str = "postgres", user: str | None = None) -> str:
    server = running.server
    return f"host={server.host} port={server.port} user={user or server.user} dbname={database}"


def content_of(path: Path) -> str:
    """All texts of a file, or of an archive."""
    if path.suffix != ".twin":
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist())


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.drawn(0.2)
def test_comments_and_names_of_applications_stay_on_the_server(server: RunningServer, command: Command) -> None:
    with session_of(server, "postgres", "SECRET_HOLDER") as holder:
        holder.execute("begin isolation level repeatable read")
        holder.rows("select count(*) from orders")
        twin = command.run("capture", "twin", dsn(server), "-o", "app.twin", "--observe", "2s")
        snapshot = command.run("capture", "snapshot", dsn(server), "-o", "app.json")
        checkup = command.run("checkup", dsn(server))
        holder.execute("rollback")
    assert (twin.returncode, snapshot.returncode) == (0, 0), twin.stderr + snapshot.stderr
    assert checkup.returncode in (0, 5), checkup.stderr
    assert "SECRET_HOLDER" not in content_of(command.folder / "app.twin")
    kept = [command.folder / "app.twin", command.folder / "app.json", *command.only_run().iterdir()]
    for path in kept:
        found = content_of(path)
        assert not [secret for secret in SECRETS if secret in found], path
        assert mode_of(path) == 0o600, path
    assert mode_of(command.only_run()) == 0o700
    texts = json.loads(content_of(command.folder / "app.json"))["statement_texts"]
    assert any("from orders where id" in text["text"] for text in texts)


def test_a_recording_of_the_horizon_is_its_owners(server: RunningServer, command: Command) -> None:
    done = command.run("capture", "horizon", dsn(server), "--for", "1s", "-o", "horizon.json")
    assert done.returncode == 0, done.stderr
    assert mode_of(command.folder / "horizon.json") == 0o600


@pytest.mark.drawn(0.2)
def test_names_that_are_no_utf_8_are_captured(server: RunningServer, command: Command) -> None:
    with session_of(server, "postgres") as client:
        client.execute("create database bytes encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'")
    with session_of(server, "bytes") as client:
        client.execute("set client_encoding to 'LATIN1'")
        client.execute('create table "caf\u00e9" (id int primary key, "pr\u00e9nom" text)')
        client.execute("create extension pg_stat_statements")
        client.execute('create statistics "l\u00e0" on id, "pr\u00e9nom" from "caf\u00e9"')
        client.execute(
            "insert into \"caf\u00e9\" select n, 'Ren\u00e9' || n % 9 from generate_series(1, 500) as n; analyze"
        )
        for number in range(20):
            client.rows(f'select id from "caf\u00e9" where "pr\u00e9nom" = \'Ren\u00e9\' and id = {number}')
    done = command.run("capture", "twin", dsn(server, "bytes"), "-o", "bytes.twin")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(command.folder / "bytes.twin") as archive:
        twin = json.loads(archive.read("twin.json"))
    (table,) = twin["tables"]
    assert table["name"] == 'public."caf\\xe9"'
    assert [column["name"] for column in table["columns"]] == ["id", "pr\\xe9nom"]
    assert any('from "caf\\xe9" where "pr\\xe9nom" = $1' in text["text"] for text in twin["workload"]["statements"])
    assert not [gap for gap in twin["gaps"] if gap["what"] in ("extended statistics", "pg_stat_statements")]
    built = command.run("lab", "start", "--twin", "bytes.twin", "--name", "bytes")
    command.run("lab", "stop", "bytes")
    with session_of(server, "postgres") as client:
        # No database with an encoding can read statements while these texts are among them.
        client.rows("select pg_stat_statements_reset()")
    assert built.returncode == 0, built.stderr


def test_plans_of_the_original_are_asked_by_a_role_that_can_do_no_harm(server: RunningServer, command: Command) -> None:
    captured = command.run("capture", "twin", dsn(server), "-o", "app.twin", "--observe", "2s")
    assert captured.returncode == 0, captured.stderr
    words = ("twin", "check", "app.twin", "--time", "2s", "--json", "--against")
    refused = command.run(*words, dsn(server))
    assert refused.returncode == 1
    assert "may run programs or use files of the server" in refused.stderr
    assert "pg_monitor" in refused.stderr


@pytest.mark.drawn(0.5)
def test_a_twin_is_checked_with_installed_programs(server: RunningServer, command: Command) -> None:
    with session_of(server, "postgres") as client:
        client.execute("select pg_stat_statements_reset()")
        for number in range(50):
            client.rows(STATEMENT.format(number))
    captured = command.run("capture", "twin", dsn(server), "-o", "app.twin")
    assert captured.returncode == 0, captured.stderr
    bindir = str(binaries_for(str(server.server.major)).bindir)
    words = ("--bindir", bindir, "--time", "2s", "--against", dsn(server, user="reader"), "--json")
    done = command.run("twin", "check", "app.twin", *words, timeout=180)
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["figures"]
