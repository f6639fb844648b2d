"""PgBouncer in transaction mode: a session is nobody's own there, which is said where it matters."""

from __future__ import annotations

import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import RunningServer, start_server

pytestmark = pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="pgbouncer is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        yield running


@pytest.fixture(scope="module")
def pooled(server: RunningServer) -> Iterator[str]:
    """The connection string of a PgBouncer that runs as the server's account and shares three sessions out."""
    directory = Path(server.server.host)
    owner = pwd.getpwuid(directory.stat().st_uid).pw_name
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = directory / "pgbouncer.ini"
    conf.write_text(
        f"[databases]\npostgres = host={directory} port={server.server.port} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        "pool_mode = transaction\ndefault_pool_size = 3\nignore_startup_parameters = extra_float_digits\n",
        encoding="utf-8",
    )
    conf.chmod(0o644)
    program = shutil.which("pgbouncer")
    assert program is not None
    process = subprocess.Popen([program, "-q", "-u", owner, conf], stderr=subprocess.DEVNULL, cwd="/")
    dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
    try:
        _await(dsn)
        yield dsn
    finally:
        process.terminate()
        process.wait()


def _await(dsn: str) -> None:
    limit = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            assert time.monotonic() < limit
            time.sleep(0.1)
        else:
            return


@pytest.mark.parametrize("verb", ("checkup", "capture snapshot", "capture twin"))
def test_what_reads_a_server_refuses_it_and_names_what_to_do(verb: str, pooled: str, command: Command) -> None:
    done = command.run(*verb.split(), pooled)
    assert done.returncode == 1, done.stderr
    assert "connection pooler" in done.stderr
    assert "name the server itself" in done.stderr
    assert not list(command.folder.iterdir())


@pytest.mark.parametrize("protocol", ("simple", "extended"))
def test_a_load_runs_through_it(protocol: str, pooled: str, command: Command) -> None:
    (command.folder / "one.sql").write_text("select 1;\n", encoding="utf-8")
    done = command.run("bench", "-n", "-f", "one.sql", "-M", protocol, "-c", "8", "-t", "20", "-d", pooled)
    assert done.returncode == 0, done.stderr
    assert "number of transactions actually processed: 160/160" in done.stdout


def test_a_comparison_leaves_nothing_on_the_server(pooled: str, server: RunningServer, command: Command) -> None:
    words = (
        "--a",
        "clients=1",
        "--b",
        "clients=2",
        "--script",
        "builtin:select-only",
        "--measure",
        "1s",
        "--warm-up",
        "0",
    )
    done = command.run("compare", "--dsn", pooled, *words, "--blocks", "4", timeout=200)
    assert done.returncode in (1, 2), done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("pgclinic: ")]
    # It makes a database of its own, which this pooler does not know.
    assert "cannot connect" in error, done.stderr
    with psycopg.connect(f"host={server.server.host} port={server.server.port} user=postgres dbname=postgres") as own:
        assert own.execute("select datname from pg_database where datname like 'pgclinic%'").fetchall() == []
