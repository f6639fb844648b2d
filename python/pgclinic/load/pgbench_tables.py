"""pgbench's standard tables, step by step: the statements and the rows are pgbench's.

The only place that knows them: ``bench -i``, the servers of ``bench --lab`` and the data of ``compare`` all come from
here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pgclinic.errors import UsageError
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.sql.quoting import quoted

BRANCHES, TELLERS, ACCOUNTS = 1, 10, 100_000
#: From here on account numbers do not fit into an int.
SCALE_BIGINT = 20_000
BLOCK_ROWS = 10_000
PROGRESS_ROWS = 100_000
QUIET_S = 5.0
FREEZE_SINCE = 140_000

STEP_NAMES = {
    "d": "drop tables",
    "t": "create tables",
    "g": "client-side generate",
    "G": "server-side generate",
    "v": "vacuum",
    "p": "primary keys",
    "f": "foreign keys",
}
_SCALE_TIMEOUT_MS = 30_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class PgbenchTables:
    """What ``pgbench -i`` can be asked for: which steps, in which order. ``scale`` is the number of branches."""

    steps: str = "dtgvp"
    scale: int = 1
    fillfactor: int = 100
    unlogged: bool = False
    tablespace: str | None = None
    index_tablespace: str | None = None
    partition_method: str | None = None
    partitions: int = 0


@dataclass(frozen=True)
class InitListener:
    """``say`` gets whole lines, ``progress`` lines that a terminal may overwrite; fewer of these with ``quiet``."""

    say: Say = lambda _: None
    progress: Say = lambda _: None
    quiet: bool = False


@dataclass(frozen=True)
class StepTime:
    name: str
    elapsed_s: float


def initialize(session: Session, tables: PgbenchTables, listener: InitListener) -> tuple[StepTime, ...]:
    """Run the steps in their order. Raises UsageError with the query that failed."""
    runs = {
        "d": _drop,
        "t": _create,
        "g": _generate_here,
        "G": _generate_there,
        "v": _vacuum,
        "p": _primary_keys,
        "f": _foreign_keys,
    }
    times = []
    for step in tables.steps:
        started_s = time.monotonic()
        runs[step](session, tables, listener)
        times.append(StepTime(STEP_NAMES[step], time.monotonic() - started_s))
    return tuple(times)


def fill_statements(scale: int) -> str:
    """What ``pgbench -i -I tGvp -s scale`` runs, as SQL: the server makes the rows itself."""
    tables = PgbenchTables(scale=scale)
    statements = (
        *table_statements(tables),
        *generate_statements(tables),
        *vacuum_statements(),
        *primary_key_statements(tables),
    )
    return "".join(f"{statement};\n" for statement in statements)


def existing_scale(access: Access) -> int:
    """The scale of the tables that a database has; 1 where it has none. Raises what a session raises."""
    with Session(
        access, statement_timeout_ms=_SCALE_TIMEOUT_MS, application_name="pgclinic", users_search_path=True
    ) as session:
        try:
            (scale,) = session.row(query("pgbench_scale", access.major))
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return 1
    return max(1, int(scale))


def table_statements(tables: PgbenchTables) -> Iterator[str]:
    """The four tables, without the partitions of one of them."""
    number = "bigint" if tables.scale >= SCALE_BIGINT else "int"
    columns = {
        "pgbench_history": f"tid int,bid int,aid {number},delta int,mtime timestamp,filler char(22)",
        "pgbench_tellers": "tid int not null,bid int,tbalance int,filler char(84)",
        "pgbench_accounts": f"aid {number} not null,bid int,abalance int,filler char(84)",
        "pgbench_branches": "bid int not null,bbalance int,filler char(88)",
    }
    for table, text in columns.items():
        partitioned = table == "pgbench_accounts" and tables.partitions > 0
        # pgbench leaves all tables but the partitions logged when there are partitions.
        statement = f"create{'' if tables.partitions else _unlogged(tables)} table {table}({text})"
        if partitioned:
            statement += f" partition by {tables.partition_method} (aid)"
        elif table != "pgbench_history":
            statement += f" with (fillfactor={tables.fillfactor})"
        if tables.tablespace is not None:
            statement += f" tablespace {quoted(tables.tablespace)}"
        yield statement


def partition_statements(tables: PgbenchTables) -> Iterator[str]:
    """One statement a partition of pgbench_accounts, without gaps over all numbers."""
    rows = ACCOUNTS * tables.scale
    size = (rows + tables.partitions - 1) // tables.partitions
    for number in range(1, tables.partitions + 1):
        head = f"create{_unlogged(tables)} table pgbench_accounts_{number}\n  partition of pgbench_accounts\n"
        if tables.partition_method == "range":
            low = "minvalue" if number == 1 else str((number - 1) * size + 1)
            high = "maxvalue" if number == tables.partitions else str(number * size + 1)
            bounds = f"  for values from ({low}) to ({high})"
        else:
            bounds = f"  for values with (modulus {tables.partitions}, remainder {number - 1})"
        yield f"{head}{bounds} with (fillfactor={tables.fillfactor})"


def generate_statements(tables: PgbenchTables) -> Iterator[str]:
    """Rows by the server, in one transaction with the truncation."""
    scale = tables.scale
    yield "begin"
    yield _TRUNCATE
    yield f"insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, {BRANCHES * scale}) as bid"
    yield (
        "insert into pgbench_tellers(tid,bid,tbalance) "
        f"select tid, (tid - 1) / {TELLERS} + 1, 0 from generate_series(1, {TELLERS * scale}) as tid"
    )
    yield (
        "insert into pgbench_accounts(aid,bid,abalance,filler) "
        f"select aid, (aid - 1) / {ACCOUNTS} + 1, 0, '' from generate_series(1, {ACCOUNTS * scale}) as aid"
    )
    yield "commit"


def vacuum_statements() -> Iterator[str]:
    for table in ("branches", "tellers", "accounts", "history"):
        yield f"vacuum analyze pgbench_{table}"


def primary_key_statements(tables: PgbenchTables) -> Iterator[str]:
    where = f" using index tablespace {quoted(tables.index_tablespace)}" if tables.index_tablespace else ""
    for table, column in (("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")):
        yield f"alter table pgbench_{table} add primary key ({column}){where}"


def foreign_key_statements() -> Iterator[str]:
    keys = (
        ("tellers", "bid", "branches"),
        ("accounts", "bid", "branches"),
        ("history", "bid", "branches"),
        ("history", "tid", "tellers"),
        ("history", "aid", "accounts"),
    )
    for table, column, other in keys:
        name = f"pgbench_{table}_{column}_fkey"
        yield f"alter table pgbench_{table} add constraint {name} foreign key ({column}) references pgbench_{other}"


def done_line(times: tuple[StepTime, ...]) -> str:
    """pgbench's last line."""
    parts = ", ".join(f"{step.name} {step.elapsed_s:.2f} s" for step in times)
    return f"done in {sum(step.elapsed_s for step in times):.2f} s ({parts})."


_TRUNCATE = "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"


def _unlogged(tables: PgbenchTables) -> str:
    return " unlogged" if tables.unlogged else ""


def _execute(session: Session, statements: Iterator[str] | tuple[str, ...]) -> None:
    for statement in statements:
        try:
            session.execute(statement)
        except QueryError as error:
            raise _failed(error, statement) from error


def _failed(error: QueryError, statement: str) -> UsageError:
    """pgbench's two lines."""
    return UsageError(f"query failed: ERROR:  {error.message.splitlines()[0]}", hint=f"Query was: {statement}")


def _drop(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("dropping old tables...")
    _execute(session, ("drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",))


def _create(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("creating tables...")
    _execute(session, table_statements(tables))
    if tables.partitions:
        listener.say(f"creating {tables.partitions} partitions...")
        _execute(session, partition_statements(tables))


def _generate_here(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    """Rows by COPY, in one transaction with the truncation, so that they need no WAL where that is minimal."""
    listener.say("generating data (client-side)...")
    _execute(session, ("begin", _TRUNCATE))
    freeze = session.version_num >= FREEZE_SINCE
    for table, rows in (("pgbench_branches", BRANCHES), ("pgbench_tellers", TELLERS), ("pgbench_accounts", ACCOUNTS)):
        partitioned = table == "pgbench_accounts" and freeze and _is_partitioned(session)
        statement = f"copy {table} from stdin" + (" with (freeze on)" if freeze and not partitioned else "")
        blocks = row_blocks(table, rows * tables.scale)
        if table == "pgbench_accounts":
            blocks = _told(blocks, rows * tables.scale, listener)
        try:
            session.copy_in(statement, blocks)
        except QueryError as error:
            raise _failed(error, statement) from error
    _execute(session, ("commit",))


def _is_partitioned(session: Session) -> bool:
    return session.row(query("bench_partitions", session.version_num // 10_000))[0] is not None


def row_blocks(table: str, rows: int) -> Iterator[bytes]:
    """The rows of one table in COPY's text form, ``BLOCK_ROWS`` of them a block."""
    per_branch = {"pgbench_branches": BRANCHES, "pgbench_tellers": TELLERS, "pgbench_accounts": ACCOUNTS}[table]
    first = 1
    while first <= rows:
        branch = (first - 1) // per_branch + 1
        last = min(rows, first + BLOCK_ROWS - 1)
        if table == "pgbench_accounts":
            # A block never crosses a branch, as 10,000 divides 100,000: all its rows end in the same words.
            tail = f"\t{branch}\t0\t\n"
            yield (tail.join(map(str, range(first, last + 1))) + tail).encode()
        elif table == "pgbench_tellers":
            yield "".join(f"{row}\t{(row - 1) // TELLERS + 1}\t0\t\\N\n" for row in range(first, last + 1)).encode()
        else:
            yield "".join(f"{row}\t0\t\\N\n" for row in range(first, last + 1)).encode()
        first = last + 1


def _told(blocks: Iterator[bytes], rows: int, listener: InitListener) -> Iterator[bytes]:
    """The same blocks; says every 100,000 rows, or with -q every 5 seconds, how far it is."""
    started_s = told_s = time.monotonic()
    done = 0
    for block in blocks:
        yield block
        done = min(rows, done + BLOCK_ROWS)
        now_s = time.monotonic()
        due = now_s - told_s >= QUIET_S if listener.quiet else done % PROGRESS_ROWS == 0
        due = due or done == rows
        if due:
            told_s = now_s
            elapsed_s = now_s - started_s
            remaining_s = (rows - done) * elapsed_s / done
            listener.progress(
                f"{done} of {rows} tuples ({100 * done // rows}%) of pgbench_accounts done "
                f"(elapsed {elapsed_s:.2f} s, remaining {remaining_s:.2f} s)"
            )


def _generate_there(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("generating data (server-side)...")
    _execute(session, generate_statements(tables))


def _vacuum(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("vacuuming...")
    _execute(session, vacuum_statements())


def _primary_keys(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("creating primary keys...")
    _execute(session, primary_key_statements(tables))


def _foreign_keys(session: Session, tables: PgbenchTables, listener: InitListener) -> None:
    listener.say("creating foreign keys...")
    _execute(session, foreign_key_statements())
