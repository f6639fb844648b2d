"""A server without a free connection is named as such, with what to do, by every verb that connects to one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from msgspec.structs import replace

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session


@pytest.fixture(scope="module")
def full() -> Iterator[str]:
    """The connection string of a role for which no connection is left."""
    settings = {"max_connections": "8", "superuser_reserved_connections": "2", "max_wal_senders": "0"}
    with start_server(binaries_for("18"), settings=settings) as running, ExitStack() as stack:
        with Session(Access(running.server), statement_timeout_ms=60_000, application_name="owner") as owner:
            owner.execute("create role clerk login")
        clerk = replace(running.server, user="clerk")
        for _ in range(6):
            stack.enter_context(Session(Access(clerk), statement_timeout_ms=60_000, application_name="app"))
        yield dsn_of(clerk)


@pytest.mark.parametrize(
    "line",
    [
        "capture snapshot DSN",
        "capture twin DSN",
        "capture horizon DSN --for 2s",
        "bench -n -f one.sql -T 2 -d DSN",
        "bench -i -s 1 -d DSN",
        "compare --dsn DSN --existing --script one.sql --a clients=1 --b clients=2",
        "lab leftovers DSN",
    ],
)
def test_a_full_server_is_one_error_with_what_to_do(full: str, command: Command, line: str) -> None:
    (command.folder / "one.sql").write_text("select 1;\n", encoding="utf-8")
    done = command.run(*(full if word == "DSN" else word for word in line.split()))
    assert done.returncode == 1
    (error, hint) = done.stderr.splitlines()
    assert "remaining connection slots are reserved" in error
    assert "end idle sessions" in hint
    assert [path.name for path in command.folder.iterdir()] == ["one.sql"]
