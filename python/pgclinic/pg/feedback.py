"""What a standby with hot_standby_feedback tells its primary: which rows it still needs."""

from __future__ import annotations

import struct
import time

from psycopg import pq

from pgclinic.errors import RunFailedError
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

# Microseconds from the Unix epoch to PostgreSQL's, 2000-01-01.
_EPOCH_US = 946_684_800_000_000
_PATIENCE_S = 5.0


def feed_back_xmin(access: Access, slot: str) -> None:
    """Stream from ``slot`` for a moment and feed the server's own next transaction id back as the xmin needed.

    The slot keeps it when the connection ends, as it does when a standby is lost. Raises RunFailedError.
    """
    connection = pq.PGconn.connect(f"{dsn_of(access.server)} replication=database".encode())
    try:
        if connection.status != pq.ConnStatus.OK:
            raise RunFailedError(f"no connection for replication: {_words(connection)}")
        xid = int(_value(connection, b"select pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())"))
        position = _value(connection, b"IDENTIFY_SYSTEM", column=2).decode()
        started = connection.exec_(f"START_REPLICATION SLOT {slot} PHYSICAL {position}".encode())
        if started.status != pq.ExecStatus.COPY_BOTH:
            raise RunFailedError(f"replication did not start: {_words(connection)}")
        connection.put_copy_data(_feedback(xid))
        connection.flush()
        _wait_until_taken(access)
    finally:
        connection.finish()


def _feedback(xid: int) -> bytes:
    """Message h: time, xmin, its epoch, catalog_xmin (none), its epoch."""
    now = time.time_ns() // 1000 - _EPOCH_US
    return b"h" + struct.pack("!qIIII", now, xid & 0xFFFFFFFF, xid >> 32, 0, 0)


def _wait_until_taken(access: Access) -> None:
    until = time.monotonic() + _PATIENCE_S
    with Session(access, statement_timeout_ms=5000, application_name="pgclinic-holder") as session:
        while time.monotonic() < until:
            if session.rows(query("slot_horizon", access.major)):
                return
            time.sleep(0.05)
    raise RunFailedError("the server did not accept the feedback of the standby")


def _value(connection: pq.abc.PGconn, command: bytes, column: int = 0) -> bytes:
    result = connection.exec_(command)
    value = result.get_value(0, column) if result.status == pq.ExecStatus.TUPLES_OK else None
    if value is None:
        raise RunFailedError(f"{command.decode()}: {_words(connection)}")
    return value


def _words(connection: pq.abc.PGconn) -> str:
    return connection.error_message.decode(errors="replace").strip()
