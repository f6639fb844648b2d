"""Several SELECTs in one round trip, on a connection that never makes its caller wait for ever."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgclinic.model.sample import Row, Value
from pgclinic.pg.connect import connect
from pgclinic.pg.session import Access, QueryError, Session

if TYPE_CHECKING:
    from psycopg import pq

_INTEGERS = frozenset({20, 21, 23, 26})
_FLOATS = frozenset({700, 701, 1700})
# How long a wait goes on before the caller is asked again whether it still wants the answer.
_PATIENCE_MS = 50


@dataclass(frozen=True)
class BatchAnswer:
    """What one statement gave, at which epoch second and after how long a wait: its rows, or why it failed."""

    at_s: float
    took_s: float = 0.0
    rows: tuple[Row, ...] = ()
    failure: QueryError | None = None


class BatchSession:
    """A read-only session with limits that answers several statements at once.

    The statements of one batch form one transaction: the first failure ends the batch, and those behind it have no
    answer. Statements are prepared once, except where a pooler may stand in between.
    """

    def __init__(
        self, access: Access, *, statement_timeout_ms: int, lock_timeout_ms: int, application_name: str
    ) -> None:
        self._connection = connect(
            access.server,
            statement_timeout_ms=statement_timeout_ms,
            lock_timeout_ms=lock_timeout_ms,
            read_only=True,
            application_name=application_name,
            secrets=access.secrets,
        )
        self._pgconn = self._connection.pgconn
        self._prepares = access.server.source != "attached"
        self._prepared: set[str] = set()
        self.backend_pid = self._connection.info.backend_pid

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement by itself; it may last as long as statement_timeout. Raises QueryError."""
        return Session.over(self._connection).rows(sql)

    def ask(self, statements: Mapping[str, str], *, give_up: Callable[[], bool]) -> dict[str, BatchAnswer]:
        """Run ``statements``, each with a name of its own, and give the answers by name.

        ``give_up`` is asked several times a second while the server keeps us waiting. Raises QueryError when it says
        so, or when the connection is lost; the session is of no use then.
        """
        import psycopg

        try:
            with self._pipeline():
                steps = self._send(statements)
                return self._collect(steps, give_up)
        except psycopg.Error as error:
            raise QueryError(str(error).strip() or "the connection was lost", sqlstate=None) from error

    def close(self) -> None:
        self._connection.close()

    def _pipeline(self) -> _Pipeline:
        return _Pipeline(self._pgconn)

    def _send(self, statements: Mapping[str, str]) -> list[tuple[str, bool]]:
        """Queue everything, and say which result belongs to whom, and whether it is one of preparing."""
        steps = []
        for name, sql in statements.items():
            if not self._prepares:
                self._pgconn.send_query_params(sql.encode(), None)
            else:
                if name not in self._prepared:
                    self._pgconn.send_prepare(name.encode(), sql.encode())
                    steps.append((name, True))
                self._pgconn.send_query_prepared(name.encode(), None)
            steps.append((name, False))
            # Or the server keeps small answers back, and nobody knows which of them took so long.
            self._pgconn.send_flush_request()
        self._pgconn.pipeline_sync()
        return steps

    def _collect(self, steps: list[tuple[str, bool]], give_up: Callable[[], bool]) -> dict[str, BatchAnswer]:
        import psycopg
        from psycopg import pq

        answers: dict[str, BatchAnswer] = {}
        asked_s = time.monotonic()
        for name, preparing in steps:
            result = self._result(give_up)
            if result is None:
                raise psycopg.OperationalError("the connection was lost")
            # A NULL ends the results of every statement.
            self._result(give_up)
            match result.status:
                case pq.ExecStatus.TUPLES_OK:
                    took_s = time.monotonic() - asked_s
                    answers[name] = BatchAnswer(at_s=time.time(), took_s=took_s, rows=_rows(result))
                    asked_s = time.monotonic()
                case pq.ExecStatus.COMMAND_OK if preparing:
                    self._prepared.add(name)
                case pq.ExecStatus.FATAL_ERROR:
                    answers[name] = BatchAnswer(at_s=time.time(), failure=_failure(result))
        end = self._result(give_up)
        if end is None or end.status != pq.ExecStatus.PIPELINE_SYNC:
            raise psycopg.OperationalError("the connection was lost")
        return answers

    def _result(self, give_up: Callable[[], bool]) -> pq.abc.PGresult | None:
        """The next result, as soon as it is there."""
        import psycopg

        poll = select.poll()
        while True:
            unsent = self._pgconn.flush()
            if not unsent and not self._pgconn.is_busy():
                return self._pgconn.get_result()
            poll.register(self._pgconn.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            if poll.poll(_PATIENCE_MS):
                self._pgconn.consume_input()
            elif give_up():
                raise psycopg.OperationalError("the server did not answer in time")


class _Pipeline:
    """Pipeline mode of a connection for the time of a ``with``; a lost connection stays as it is."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._pgconn = pgconn

    def __enter__(self) -> None:
        self._pgconn.enter_pipeline_mode()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._pgconn.exit_pipeline_mode()


def _failure(result: pq.abc.PGresult) -> QueryError:
    from psycopg import pq

    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    words = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    return QueryError(words.decode(errors="replace").strip(), sqlstate=state.decode() if state else None)


def _rows(result: pq.abc.PGresult) -> tuple[Row, ...]:
    columns = [((result.fname(at) or b"").decode(), result.ftype(at)) for at in range(result.nfields)]
    return tuple(
        {name: _value(result.get_value(row, at), kind) for at, (name, kind) in enumerate(columns)}
        for row in range(result.ntuples)
    )


def _value(text: bytes | None, kind: int) -> Value:
    if text is None:
        return None
    if kind in _INTEGERS:
        return int(text)
    if kind in _FLOATS:
        return float(text)
    return text.decode(errors="replace")
