"""A TPC-C database, filled over several connections: rows first, then what would slow them down.

The rows come from the engine (crates/load/src/tpcc/fill). Each table is one COPY in the transaction that emptied it,
so that its rows are frozen from the beginning and need no WAL where wal_level is minimal; several connections share
the tables, not the warehouses, as two cannot both have emptied the same one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pgclinic.errors import DiskFullError, PgclinicError, ServerLostError, UsageError
from pgclinic.load.crew import Task, TaskTime, Told, run_tasks
from pgclinic.load.engine import TpccRows
from pgclinic.load.tpcc_state import StateKind, TpccState, filled_mark, read_state
from pgclinic.load.tpcc_tables import FOREIGN_KEYS, INDEXES, ROWS_COST_MS, TABLES, VACUUM_COST_MS, Key
from pgclinic.model.dataset import TPCC_SEED
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

SEEDS = 2**63
WAREHOUSE_MB = 103
STATEMENT_TIMEOUT_MS = 6 * 3600 * 1000
#: Any number that no other program is likely to lock.
_LOCK = 0x7067_7470_6363
DISK_FULL, STILL_NEEDED, NOT_ALLOWED = "53100", "2BP01", "42501"
#: Classes of SQLSTATE: connection exceptions, and shutdown or crash by somebody else.
SERVER_GONE = ("08", "57P")


def fill_tpcc(
    access: Access,
    warehouses: int,
    *,
    seed: int = TPCC_SEED,
    connections: int | None = None,
    replace: bool = False,
    on_stage: Callable[[str], None] = lambda _: None,
    on_progress: Callable[[str, float, float], None] = lambda _what, _done, _total: None,
) -> tuple[TaskTime, ...]:
    """Make the database of ``access`` a TPC-C one of so many warehouses; returns what took how long.

    Nothing is done, and () returned, when it is that already. What an interrupted filling left is dropped and made
    anew; what another filling made, or a load has changed, only with ``replace``; tables of somebody else never.
    ``connections`` is one for each core of this machine unless given, and has no influence on the data. ``on_stage``
    hears words for the user, ``on_progress`` what is being done, and how much of how much is done; both in this thread.
    Raises UsageError, DiskFullError, ServerLostError.
    """
    if warehouses < 1:
        raise UsageError(f"{warehouses} warehouses cannot be filled: at least 1")
    if not 0 <= seed < SEEDS:
        raise UsageError(f"{seed} is not a valid seed: 0 to {SEEDS - 1}")
    wanted = TpccState(kind=StateKind.FILLED, warehouses=warehouses, seed=seed)
    with _explained(warehouses), _session(access) as session:
        _lock(session)
        state = read_state(session, access.major)
        if state == wanted and not replace:
            return ()
        _drop(session, state, wanted, replace, on_stage)
        session.execute(query("tpcc_create", access.major))
        on_stage(f"filling {_counted(warehouses)}")
        times = run_tasks(
            _tasks(warehouses, seed), partial(_session, access), connections or os.cpu_count() or 1, on_progress
        )
        session.execute(f"comment on table warehouse is '{filled_mark(warehouses, seed)}'")
        return times


def _session(access: Access) -> Session:
    session = Session(
        access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-fill", users_search_path=True
    )
    with session.catalog_only():
        session.execute(query("tpcc_own_settings", access.major))
    return session


def _lock(session: Session) -> None:
    """Until the session ends: two fillings of one database would each take the other's tables for its own leftovers."""
    if not session.row(f"select pg_catalog.pg_try_advisory_lock({_LOCK})")[0]:
        raise UsageError("another command is filling this database now", hint="wait until it is done")


def _drop(
    session: Session, state: TpccState, wanted: TpccState, replace: bool, on_stage: Callable[[str], None]
) -> None:
    """Make room for the new tables, if what is there may go."""
    match state.kind:
        case StateKind.ABSENT:
            return
        case StateKind.FOREIGN:
            raise UsageError(
                f"there is a table {state.table!r} that pgclinic did not make; it was not touched",
                hint="fill a database of its own: create one and name it",
            )
        case StateKind.HALF_FILLED:
            on_stage("dropping what an interrupted filling left")
        case StateKind.FILLED:
            if not replace:
                raise UsageError(
                    f"the database holds {_in_words(state)}, and not {_in_words(wanted)}",
                    hint="fill another database, or ask for the old data to be replaced",
                )
            on_stage(f"dropping {_in_words(state)}")
    session.execute("drop table if exists " + ", ".join(TABLES))


def _in_words(state: TpccState) -> str:
    return f"{_counted(state.warehouses)} of seed {state.seed}"


def _counted(warehouses: int) -> str:
    return "1 warehouse" if warehouses == 1 else f"{warehouses} warehouses"


def _tasks(warehouses: int, seed: int) -> tuple[Task, ...]:
    """Everything that makes the tables what they shall be; what belongs to the largest table comes first."""
    tasks = []
    for table in TABLES:
        tasks.append(_rows_task(table, warehouses, seed))
        tasks += [_key_task(key, warehouses) for key in INDEXES + FOREIGN_KEYS if key.table == table]
        tasks.append(_vacuum_task(table, warehouses))
    return tuple(tasks)


def _rows_task(table: str, warehouses: int, seed: int) -> Task:
    cost = ROWS_COST_MS[table] * (1 if table == "item" else warehouses)
    return Task(_rows_name(table), partial(_copy_rows, table, warehouses, seed), cost, frozenset({table}))


def _rows_name(table: str) -> str:
    return f"rows of {table}"


def _copy_rows(table: str, warehouses: int, seed: int, session: Session, tell: Told) -> None:
    rows = TpccRows(table, warehouses, seed)

    def blocks() -> Iterator[bytes]:
        for block in rows:
            tell(rows.share)
            yield block

    session.execute("begin")
    # In the same transaction: only then may rows be frozen as they come, and go without WAL.
    session.execute(f"truncate {table}")
    session.copy_in(f"copy {table} from stdin with (format binary, freeze)", blocks())
    session.execute("commit")


def _key_task(key: Key, warehouses: int) -> Task:
    """A foreign key waits for both tables' indexes: the check joins them by these."""
    tables = {key.table} | ({key.parent} if key.parent else set())
    after = {_rows_name(table) for table in tables}
    if key.parent:
        after |= {index.name for index in INDEXES if index.table in tables}
    return Task(key.name, partial(_add_key, key), key.cost_ms * warehouses, frozenset(tables), frozenset(after))


def _add_key(key: Key, session: Session, tell: Told) -> None:
    session.execute(key.statement)


def _vacuum_task(table: str, warehouses: int) -> Task:
    """Statistics for the planner, and none left to do for an autovacuum that would wake up in a measurement.

    The pages are frozen already, so VACUUM has little to read; before PostgreSQL 14 it is what marks them visible.
    """
    after = {_rows_name(table)} | {index.name for index in INDEXES if index.table == table}
    run = partial(_vacuum, table)
    return Task(f"vacuum of {table}", run, VACUUM_COST_MS[table] * warehouses, frozenset({table}), frozenset(after))


def _vacuum(table: str, session: Session, tell: Told) -> None:
    session.execute(f"vacuum (analyze) {table}")


@contextmanager
def _explained(warehouses: int) -> Iterator[None]:
    """What the server says, in words that tell what to do."""
    try:
        yield
    except QueryError as error:
        explained = _explanation(error, warehouses)
        if explained is None:
            raise
        raise explained from error


def _explanation(error: QueryError, warehouses: int) -> PgclinicError | None:
    state = error.sqlstate
    if state == DISK_FULL:
        return DiskFullError(
            f"no room on the server's disk to fill {_counted(warehouses)}: about {warehouses * WAREHOUSE_MB:,} MB "
            f"are needed ({error})",
            hint="free disk space and fill again; incomplete tables are then dropped",
        )
    if state is None or state.startswith(SERVER_GONE):
        return ServerLostError(f"the server was lost while filling: {error}", hint="the next fill starts again")
    if state == STILL_NEEDED:
        return UsageError(f"the old tables cannot be dropped: {error}")
    if state == NOT_ALLOWED:
        return UsageError(f"the server does not allow it: {error}", hint="fill a database that you own")
    return None
