"""The memory contexts of a backend: its own by a view, any other's by the dump that it writes to the log."""

from __future__ import annotations

import time

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.model.memory import MemoryContext, MemorySnapshot, MemorySource, MemorySum
from pgclinic.observe.local_server import local_postmaster
from pgclinic.observe.log_tail import LogTail, messages, open_tail
from pgclinic.observe.proc_files import read_memory, read_title
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.samples.memory_dump import DumpedContext, context_tree, last_dump

SINCE = 14
STATEMENT_TIMEOUT_MS = 10_000
_POLL_S = 0.02


def own_memory(session: Session, major: int) -> MemoryContext:
    """The tree of the backend behind ``session``. Raises UsageError before 14, QueryError when it is not allowed."""
    refuse_old(major)
    rows = session.rows(query("own_memory", major))
    root = context_tree(
        DumpedContext(
            level=level,
            context=MemoryContext(
                name=name,
                ident=ident,
                kind=kind,
                total_bytes=total,
                used_bytes=used,
                free_bytes=free,
                blocks=blocks,
                free_chunks=chunks,
            ),
        )
        for level, name, ident, kind, total, used, free, blocks, chunks in rows
    )
    if root is None:
        raise RunFailedError("the server reported no memory contexts")
    return root


class MemoryReader:
    """Reads the memory of processes of one server, over one session. Use it in a ``with``, or close it."""

    def __init__(self, access: Access) -> None:
        refuse_old(access.major)
        self._access = access
        self._session = Session(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-memory")
        self._is_local = local_postmaster(access.server, self._session) is not None

    def own(self) -> MemorySnapshot:
        """The memory of the backend that serves this reader: that of a fresh session."""
        pid = self._session.backend_pid
        return self._snapshot(pid, MemorySource.VIEW, own_memory(self._session, self._access.major))

    def of(self, pid: int, *, limit_s: float = 5.0) -> MemorySnapshot:
        """The memory of process ``pid``, as it is when the process comes to answer.

        Raises UsageError when the server has no such process or it cannot answer, QueryError when this user may not
        ask, RunFailedError when the log cannot be read or no answer came within ``limit_s``.
        """
        if pid == self._session.backend_pid:
            return self.own()
        tail = open_tail(self._access, self._session)
        (asked,) = self._session.row(query("log_memory", self._access.major), {"pid": pid})
        if not asked:
            raise UsageError(
                f"process {pid} cannot tell its memory: it is not of this server, or of a kind that does not answer",
                hint="select pid, backend_type, query from pg_stat_activity shows the processes",
            )
        root, total = _await_dump(tail, pid, limit_s)
        return self._snapshot(pid, MemorySource.LOG, root, unread_bytes=total.total_bytes - root.sum().total_bytes)

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> MemoryReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _snapshot(
        self, pid: int, source: MemorySource, root: MemoryContext, *, unread_bytes: int = 0
    ) -> MemorySnapshot:
        return MemorySnapshot(
            pid=pid,
            at_s=time.time(),
            source=source,
            root=root,
            unread_bytes=unread_bytes,
            title=read_title(pid) if self._is_local else None,
            process=read_memory(pid) if self._is_local else None,
        )


def refuse_old(major: int) -> None:
    """Raises UsageError for a server that cannot tell its memory contexts."""
    if major < SINCE:
        raise UsageError(f"memory contexts need PostgreSQL {SINCE} or newer, this server is {major}")


def _await_dump(tail: LogTail, pid: int, limit_s: float) -> tuple[MemoryContext, MemorySum]:
    end = time.monotonic() + limit_s
    while True:
        found = last_dump(messages(tail.read(), tail.format, pid=pid, prefix=tail.prefix))
        if found is not None:
            return found
        if time.monotonic() >= end:
            break
        time.sleep(_POLL_S)
    raise RunFailedError(
        f"process {pid} did not write its memory to the log within {limit_s:g} s",
        hint="it answers between two steps of its work; a log_min_messages above log, or a log file that "
        "was just changed, hides the answer",
    )
