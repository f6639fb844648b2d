"""What a process of PostgreSQL is for, by the title it gives itself."""

from __future__ import annotations

import re

from pgclinic.model.processes import ProcessKind

# Titles of 9.6 to 18 begin like this; before 11 some said "process" behind it, and "wal" was a word of its own.
_BEGINNINGS = (
    ("checkpointer", ProcessKind.CHECKPOINTER),
    ("background writer", ProcessKind.BACKGROUND_WRITER),
    ("writer", ProcessKind.BACKGROUND_WRITER),
    ("walwriter", ProcessKind.WAL_WRITER),
    ("wal writer", ProcessKind.WAL_WRITER),
    ("walsummarizer", ProcessKind.WAL_SUMMARIZER),
    ("walsender", ProcessKind.WAL_SENDER),
    ("wal sender", ProcessKind.WAL_SENDER),
    ("walreceiver", ProcessKind.WAL_RECEIVER),
    ("wal receiver", ProcessKind.WAL_RECEIVER),
    ("autovacuum launcher", ProcessKind.AUTOVACUUM_LAUNCHER),
    ("autovacuum worker", ProcessKind.AUTOVACUUM_WORKER),
    ("io worker", ProcessKind.IO_WORKER),
    ("startup", ProcessKind.STARTUP),
    ("archiver", ProcessKind.ARCHIVER),
    ("logger", ProcessKind.LOGGER),
    ("stats collector", ProcessKind.STATS_COLLECTOR),
    ("logical replication launcher", ProcessKind.LOGICAL_LAUNCHER),
    ("logical replication", ProcessKind.LOGICAL_WORKER),
    ("slotsync worker", ProcessKind.SLOT_SYNC),
    ("parallel worker", ProcessKind.PARALLEL),
)
_OLD_WORKER = "bgworker: "
# user, database, and where the client is: [local], or its address with its port.
_CLIENT = re.compile(r".* .* (?:\[local\]|\S+\(\d+\))(?: .*)?")


def kind_of(title: str) -> ProcessKind:
    """The kind by title; STARTING for a process that has not yet given itself one."""
    head, found, rest = title.partition("postgres: ")
    if not found or head:
        return ProcessKind.STARTING
    # With a cluster_name the title is "postgres: name: what".
    _, _, inner = rest.partition(": ")
    for text in (inner, rest):
        known = _known(text.removeprefix(_OLD_WORKER))
        if known is not None:
            return known
    return ProcessKind.BACKGROUND_WORKER


def _known(text: str) -> ProcessKind | None:
    # A client first: a user may be called "writer".
    if _CLIENT.fullmatch(text) is not None and not text.startswith(("walsender ", "wal sender ")):
        return ProcessKind.CLIENT
    for beginning, kind in _BEGINNINGS:
        if text == beginning or text.startswith(f"{beginning} "):
            return kind
    return None
