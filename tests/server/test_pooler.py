"""Behind a connection pooler the settings of a session are those of other clients too: nothing is read there."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import RunningServer, start_server

POOLER_PID = 7
_KEY_DATA = b"K" + struct.pack(">i", 12)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off", "log_statement": "all"}) as running:
        yield running


@contextmanager
def pooler(running: RunningServer) -> Iterator[int]:
    """The port of something that passes everything on, and gives sessions a process id of its own as poolers do."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listener, running), daemon=True).start()
    with listener:
        yield int(listener.getsockname()[1])


def _accept(listener: socket.socket, running: RunningServer) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_session, args=(client, running), daemon=True).start()


def _session(client: socket.socket, running: RunningServer) -> None:
    with client, socket.socket(socket.AF_UNIX) as server:
        server.connect(f"{running.server.host}/.s.PGSQL.{running.server.port}")
        there = threading.Thread(target=_pass, args=(client, server, False), daemon=True)
        there.start()
        _pass(server, client, True)
        there.join(timeout=10)


def _pass(source: socket.socket, target: socket.socket, rename: bool) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            at = data.find(_KEY_DATA) if rename else -1
            if at >= 0:
                data = data[: at + 5] + struct.pack(">i", POOLER_PID) + data[at + 9 :]
                rename = False
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("verb", ("checkup", "capture snapshot", "capture twin", "capture horizon --for 1s"))
def test_a_pooler_is_named_and_no_setting_is_sent_through_it(
    server: RunningServer, verb: str, command: Command
) -> None:
    since = server.log_path.stat().st_size
    with pooler(server) as port:
        dsn = f"host=127.0.0.1 port={port} user={server.server.user} dbname=postgres sslmode=disable"
        done = command.run(*verb.split(), dsn)
    assert done.returncode == 1, done.stderr
    assert "connection pooler" in done.stderr
    assert "name the server itself" in done.stderr
    with server.log_path.open(encoding="utf-8") as log:
        log.seek(since)
        sent = log.read()
    assert "default_transaction_read_only" not in sent
    assert not list(command.folder.iterdir())
