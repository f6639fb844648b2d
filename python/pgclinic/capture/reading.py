"""One connection to a live server that reads only, waits for no lock, and holds none that anybody would notice.

Queries of the catalog run in one snapshot. PostgreSQL's functions that print an index, a check or a view lock the
tables for as long as their statement runs: they run behind the snapshot, each in a transaction of its own, and never on
a table that somebody has locked or waits to lock against reading, because whoever came later would queue behind them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pgclinic.capture.live_session import APPLICATION_NAME, LOCK_TIMEOUT_MS, use_readable_encoding
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

STATEMENT_TIMEOUT_MS = 30_000
#: So many objects are printed by one statement: their tables are locked for some milliseconds.
_AT_ONCE = 500
#: How long a capture waits in all for tables that are locked, without being in a queue for any.
_PATIENCE_S = 0.5
_LOOK_EVERY_S = 0.1

Record = dict[str, Any]


class ReadingSession:
    """A read-only session on ``access``. Close it, or use it in a ``with``. Raises UsageError: cannot connect."""

    def __init__(self, access: Access) -> None:
        self.major = access.major
        self._patience_s = _PATIENCE_S
        self._session = Session(
            access,
            statement_timeout_ms=STATEMENT_TIMEOUT_MS,
            lock_timeout_ms=LOCK_TIMEOUT_MS,
            read_only=True,
            application_name=APPLICATION_NAME,
        )
        use_readable_encoding(self._session)

    @property
    def session(self) -> Session:
        """The connection itself, for queries of others."""
        return self._session

    def print_as_captured(self) -> None:
        """From now on names are printed with their schema, and times in UTC."""
        self._session.rows(query("twin_session", self.major))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        self._session.execute("begin transaction isolation level repeatable read, read only")
        try:
            yield
        finally:
            self._session.execute("rollback")

    def records(self, text: str) -> list[Record]:
        """Rows of one query of the catalog by column. Raises QueryError."""
        return self._session.records(text)

    def definitions(self, text: str, relations_of: Mapping[int, Collection[int]]) -> Definitions:
        """The rows that ``text`` has for each object, without those whose relations are locked or that fail.

        ``relations_of`` has the relations that printing an object locks, by the object's oid, which is the first column
        of the rows. Raises QueryError when the server is lost.
        """
        rows: list[tuple[Any, ...]] = []
        failed: dict[int, str] = {}
        waiting = set(relations_of)
        while waiting:
            locked = self._locked_relations()
            free = sorted(oid for oid in waiting if locked.isdisjoint(relations_of[oid]))
            for start in range(0, len(free), _AT_ONCE):
                rows += self._printed(text, free[start : start + _AT_ONCE], failed)
            waiting -= set(free)
            if not waiting or self._patience_s <= 0:
                break
            self._patience_s -= _LOOK_EVERY_S
            time.sleep(_LOOK_EVERY_S)
        return Definitions(rows, failed, frozenset(waiting))

    def unlocked(self, text: str, relations_of: Mapping[int, Collection[int]]) -> list[tuple[Any, ...]]:
        """The same rows without those whose relations are locked at this moment: it waits for none, and misses none."""
        locked = self._locked_relations()
        free = sorted(oid for oid, relations in relations_of.items() if locked.isdisjoint(relations))
        failed: dict[int, str] = {}
        return [
            row
            for start in range(0, len(free), _AT_ONCE)
            for row in self._printed(text, free[start : start + _AT_ONCE], failed)
        ]

    def _printed(self, text: str, oids: Sequence[int], failed: dict[int, str]) -> list[tuple[Any, ...]]:
        """The rows of all; where one fails, those of each half, so that it is the only one that is missing."""
        try:
            return self._session.rows(text, {"oids": list(oids)})
        except QueryError as error:
            if error.sqlstate is None:
                raise
            if len(oids) == 1:
                return self._alone(text, oids[0], failed)
        middle = len(oids) // 2
        return self._printed(text, oids[:middle], failed) + self._printed(text, oids[middle:], failed)

    def _alone(self, text: str, oid: int, failed: dict[int, str]) -> list[tuple[Any, ...]]:
        """Once more: an object that was dropped while it was printed has no row then, and is not missing."""
        try:
            return self._session.rows(text, {"oids": [oid]})
        except QueryError as error:
            if error.sqlstate is None:
                raise
            failed[oid] = error.message.splitlines()[0]
            return []

    def _locked_relations(self) -> set[int]:
        return {oid for (oid,) in self._session.rows(query("twin_locked_relations", self.major))}

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> ReadingSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Definitions:
    """Printed objects. ``failed`` has the server's message by oid; ``locked`` those whose relations stayed locked."""

    def __init__(self, rows: list[tuple[Any, ...]], failed: Mapping[int, str], locked: frozenset[int]) -> None:
        self.rows = rows
        self.failed = failed
        self.locked = locked

    def by_oid(self) -> dict[int, tuple[Any, ...]]:
        """What stands behind the oid in each row, without objects that have gone meanwhile."""
        return {row[0]: row[1:] for row in self.rows if row[1] is not None}
