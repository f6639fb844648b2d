"""All statements that a checkup sends to a server, in the order in which it does, for those who want to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.capture import sql_functions
from pgclinic.capture.live_session import (
    ENCODING,
    LOCK_TIMEOUT_MS,
    SQL_ASCII,
    STATEMENT_TIMEOUT_MS,
    UTF8,
)
from pgclinic.capture.parts import COUNTERS, SETTINGS, STATE
from pgclinic.capture.reader import STATEMENTS_VERSION, as_json
from pgclinic.capture.snapshot import SAMPLED
from pgclinic.observe import local_server
from pgclinic.pg.connect import BACKEND_PID, SET_CONFIG, session_limits
from pgclinic.pg.query_files import query

_SET_CONFIG = SET_CONFIG % ("$1", "$2")
#: What is sent only where the database has no encoding.
WITHOUT_ENCODING = "session of a database without an encoding"


@dataclass(frozen=True)
class SentStatement:
    """``part`` is what the statement is for, ``values`` are those of its parameters."""

    part: str
    sql: str
    values: tuple[str, ...] = ()


def sent_statements(major: int) -> tuple[SentStatement, ...]:
    """The statements for a server of this major version. An observation reads counters and samples more than once.

    An extension pg_stat_statements of an older version is asked for fewer columns.
    """
    return (*_machine(major), *_session(major), *_reading(major))


def _session(major: int) -> Iterator[SentStatement]:
    yield SentStatement("session", BACKEND_PID)
    for name, value in session_limits(STATEMENT_TIMEOUT_MS, LOCK_TIMEOUT_MS, True, major=major).items():
        yield SentStatement("session", _SET_CONFIG, (name, value))
    yield SentStatement("session", UTF8)
    yield SentStatement("session", ENCODING)
    yield SentStatement(WITHOUT_ENCODING, SQL_ASCII)
    yield SentStatement("session", query("sample_session", major))


def _reading(major: int) -> Iterator[SentStatement]:
    yield SentStatement("server", query("extension_schemas", major))
    yield SentStatement("server", as_json(query("snapshot_server", major)))
    yield SentStatement("server", as_json(STATEMENTS_VERSION))
    for view, sql in SAMPLED.items():
        yield SentStatement(f"samples.{view}", as_json(sql(major)))
    for within, parts in (("counters.", COUNTERS), ("", STATE)):
        for part in parts:
            if part.since <= major:
                yield SentStatement(within + part.name, as_json(part.sql(major)))
    yield SentStatement("sizes", as_json(query("snapshot_sizes", major)))
    yield SentStatement("expressions", as_json(query("snapshot_index_expressions", major)))
    yield SentStatement(sql_functions.PART, as_json(query("snapshot_sql_functions", major)))
    yield SentStatement("settings", as_json(query("session_as_configured", major)))
    yield SentStatement("settings", as_json(SETTINGS.sql(major)))


def _machine(major: int) -> Iterator[SentStatement]:
    """A session of its own finds out whether the server runs on this machine."""
    for name, value in session_limits(local_server.STATEMENT_TIMEOUT_MS, None, False, major=major).items():
        yield SentStatement("machine", _SET_CONFIG, (name, value))
    yield SentStatement("machine", query("backend_identity", major))
