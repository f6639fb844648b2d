"""What pgbench does on the server before the clients start: scale, partitions, vacuum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pgclinic.bench.request import BenchRequest
from pgclinic.errors import UsageError
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session

_UNDEFINED_TABLE = "42P01"
_PARTITIONED_SINCE = 100_000
_METHODS = {"r": "range", "h": "hash"}


@dataclass(frozen=True)
class Tables:
    """What the standard tables are like. ``partition_method`` is None without partitions."""

    scale: int
    partition_method: str | None = None
    partitions: int = 0


def read_tables(session: Session, request: BenchRequest, database: str, warn: Callable[[str], None]) -> Tables:
    """Scale and partitions as the tables have them; with scripts of the user's own, what -s says.

    Raises UsageError when a builtin script is to run and the tables are not there.
    """
    if not request.needs_tables:
        return Tables(scale=request.scale or 1)
    try:
        scale = int(session.row("select pg_catalog.count(*) from pgbench_branches")[0])
    except QueryError as error:
        hint = None
        if error.sqlstate == _UNDEFINED_TABLE:
            hint = f'fill it first: pgclinic bench -i, in database "{database}"; or use --lab'
        raise UsageError(f"could not count number of branches: {_first_line(error)}", hint=hint) from error
    if scale < 0:
        raise UsageError(f'invalid count(*) from pgbench_branches: "{scale}"')
    if request.scale is not None and request.scale != scale:
        warn(f"pgclinic: warning: scale option ignored, using count from pgbench_branches table ({scale})")
    method, partitions = _partitioning(session)
    return Tables(scale=scale, partition_method=method, partitions=partitions)


def _partitioning(session: Session) -> tuple[str | None, int]:
    if session.version_num < _PARTITIONED_SINCE:
        return None, 0
    rows = session.rows(query("bench_partitions", session.version_num // 10_000))
    if not rows:
        raise UsageError('no pgbench_accounts table found in "search_path"', hint="fill it first: pgclinic bench -i")
    strategy, partitions = rows[0]
    text = strategy.decode() if isinstance(strategy, bytes) else strategy
    return (_METHODS.get(text, text) if text is not None else None), int(partitions)


def vacuum(session: Session, request: BenchRequest, say: Callable[[str], None]) -> None:
    """What pgbench cleans before a run unless -n; what fails is said and passed over, as pgbench does."""
    if request.vacuum:
        for statement in ("vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"):
            _try(session, statement, say)
        say("starting vacuum...end.")
    if request.vacuum and request.vacuum_all:
        _try(session, "vacuum analyze pgbench_accounts", say)
        say("starting vacuum pgbench_accounts...end.")


def _try(session: Session, statement: str, say: Callable[[str], None]) -> None:
    try:
        session.execute(statement)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        say(f"pgclinic: error: ERROR:  {_first_line(error)}")
        say("pgclinic: detail: (ignoring this error and continuing anyway)")


def _first_line(error: QueryError) -> str:
    return error.message.splitlines()[0]
