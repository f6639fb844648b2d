"""What a filling plans, how connections share it, and what it says of a database; without a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from pgclinic.errors import DiskFullError, PgclinicError, ServerLostError, UsageError
from pgclinic.load import tpcc_fill
from pgclinic.load.crew import Task, Told, run_tasks
from pgclinic.load.engine import TpccRows
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.load.tpcc_state import StateKind, TpccState, filled_mark, state_of
from pgclinic.load.tpcc_tables import FOREIGN_KEYS, INDEXES, TABLES
from pgclinic.model.server import Server
from pgclinic.pg.session import Access, QueryError, Session

PATIENCE_S = 20.0


class FakeSession:
    """A session that can only wait, until it is abandoned."""

    def __init__(self) -> None:
        self.abandoned = threading.Event()
        self.closed = False

    def abandon(self) -> None:
        self.abandoned.set()

    def wait(self) -> None:
        assert self.abandoned.wait(PATIENCE_S), "nobody ended the session"
        raise QueryError("cancelled", sqlstate=None)

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


class Sessions:
    def __init__(self) -> None:
        self.opened: list[FakeSession] = []

    def __call__(self) -> Session:
        self.opened.append(FakeSession())
        return cast("Session", self.opened[-1])


def task(
    name: str,
    run: Callable[[Session, Told], None] = lambda _session, _tell: None,
    *,
    tables: str = "",
    after: str = "",
    cost: float = 1.0,
) -> Task:
    return Task(name, run, cost, frozenset(tables.split()), frozenset(after.split()))


def waiting(session: Session, tell: Told) -> None:
    cast("FakeSession", session).wait()


def crew_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("crew-")]


def no_progress(what: str, done: float, total: float) -> None:
    return None


def test_tasks_that_can_begin_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    def meet(session: Session, tell: Told) -> None:
        meeting.wait()

    sessions = Sessions()
    times = run_tasks([task(name, meet, tables=name) for name in "abc"], sessions, 3, no_progress)
    assert sorted(time.name for time in times) == ["a", "b", "c"]
    assert len(sessions.opened) == 3
    assert all(session.closed for session in sessions.opened)


def test_there_are_no_more_connections_than_tasks() -> None:
    sessions = Sessions()
    run_tasks([task("only")], sessions, 8, no_progress)
    assert len(sessions.opened) == 1


def test_the_first_error_ends_the_others_and_is_the_one_that_is_raised() -> None:
    def fail(session: Session, tell: Told) -> None:
        raise QueryError("no room", sqlstate="53100")

    done: list[str] = []
    tasks = [task("long", waiting), task("bad", fail), task("later", lambda _s, _t: done.append("later"), after="long")]
    sessions = Sessions()
    with pytest.raises(QueryError, match="no room"):
        run_tasks(tasks, sessions, 2, no_progress)
    assert done == []
    assert crew_threads() == []
    assert all(session.closed for session in sessions.opened)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_the_caller_raises_ends_all_at_once(error: type[BaseException]) -> None:
    def interrupt(what: str, done: float, total: float) -> None:
        raise error

    began = time.monotonic()
    with pytest.raises(error):
        run_tasks([task("a", waiting), task("b", waiting)], Sessions(), 2, interrupt)
    assert crew_threads() == []
    assert time.monotonic() - began < PATIENCE_S / 2


def test_a_task_that_tells_its_progress_is_ended_there() -> None:
    reached = threading.Event()

    def endless(session: Session, tell: Told) -> None:
        while True:
            tell(0.5)
            reached.set()
            time.sleep(0.001)

    def interrupt(what: str, done: float, total: float) -> None:
        if reached.is_set():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([task("endless", endless)], Sessions(), 1, interrupt)
    assert crew_threads() == []


def test_progress_counts_costs_and_names_what_runs() -> None:
    half = threading.Event()
    seen: list[tuple[str, float, float]] = []

    def slow(session: Session, tell: Told) -> None:
        tell(0.5)
        assert half.wait(PATIENCE_S)

    def progress(what: str, done: float, total: float) -> None:
        seen.append((what, done, total))
        if done == 3:
            half.set()

    run_tasks([task("slow", slow, cost=6), task("quick", after="slow", cost=4)], Sessions(), 1, progress)
    assert ("slow", 3.0, 10.0) in seen
    assert seen[-1] == ("", 10.0, 10.0)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_no_two_tasks_of_a_filling_have_a_name_and_all_wait_for_tasks_that_exist() -> None:
    tasks = tpcc_fill._tasks(3, 1)
    names = [one.name for one in tasks]
    assert len(set(names)) == len(names) == 9 + len(INDEXES) + len(FOREIGN_KEYS) + 9
    assert all(one.after <= set(names) for one in tasks)
    assert {table for one in tasks for table in one.tables} == set(TABLES)


def test_the_keys_are_benchbases() -> None:
    assert sum(key.definition.startswith("primary key") for key in INDEXES) == 8, "history has none"
    assert len(FOREIGN_KEYS) == 10
    assert all(key.definition.endswith("on delete cascade") for key in FOREIGN_KEYS)
    name = next(key for key in INDEXES if "idx_customer_name" in key.definition)
    assert name.statement == "create index idx_customer_name on customer (c_w_id, c_d_id, c_last, c_first)"


OURS: dict[str, str | None] = dict.fromkeys(TABLES, "pgclinic tpcc")


@pytest.mark.parametrize(
    ("comments", "state"),
    [
        ({}, TpccState(kind=StateKind.ABSENT)),
        (OURS | {"warehouse": "pgclinic tpcc: filling"}, TpccState(kind=StateKind.HALF_FILLED)),
        ({"item": "pgclinic tpcc"}, TpccState(kind=StateKind.HALF_FILLED)),
        (OURS | {"warehouse": filled_mark(7, 3)}, TpccState(kind=StateKind.FILLED, warehouses=7, seed=3)),
        ({"warehouse": filled_mark(7, 3)}, TpccState(kind=StateKind.HALF_FILLED)),
        ({"customer": None}, TpccState(kind=StateKind.FOREIGN, table="customer")),
        (OURS | {"stock": "the shop's stock"}, TpccState(kind=StateKind.FOREIGN, table="stock")),
    ],
)
def test_the_comments_tell_the_state(comments: dict[str, str | None], state: TpccState) -> None:
    assert state_of(comments) == state


@pytest.mark.parametrize(
    ("sqlstate", "kind", "says"),
    [
        ("53100", DiskFullError, "about 1,030 MB are needed"),
        (None, ServerLostError, "lost while filling"),
        ("57P01", ServerLostError, "lost while filling"),
        ("57P02", ServerLostError, "lost while filling"),
        ("08006", ServerLostError, "lost while filling"),
        ("42501", UsageError, "does not allow it"),
        ("2BP01", UsageError, "cannot be dropped"),
        ("57014", QueryError, "the server's words"),
    ],
)
def test_errors_of_the_server_become_ours(sqlstate: str | None, kind: type[PgclinicError], says: str) -> None:
    with pytest.raises(kind, match=says) as caught, tpcc_fill._explained(10):
        raise QueryError("the server's words", sqlstate=sqlstate)
    assert "the server's words" in str(caught.value)


def test_nonsense_is_refused_before_anything_is_asked() -> None:
    nowhere = Access(
        Server(
            name="x", source="lab", version="18", version_num=180000, host="/nowhere", port=1, user="x", database="x"
        )
    )
    with pytest.raises(UsageError, match="at least 1"):
        fill_tpcc(nowhere, 0)
    with pytest.raises(UsageError, match="-1 is not a valid seed"):
        fill_tpcc(nowhere, 1, seed=-1)


def test_rows_come_as_one_binary_copy() -> None:
    rows = TpccRows("stock", 1, 5)
    shares = []
    blocks = []
    for block in rows:
        shares.append(rows.share)
        blocks.append(block)
    text = b"".join(blocks)
    assert len(blocks) > 10
    assert text.startswith(b"PGCOPY\n\xff\r\n\0")
    assert text.endswith(b"\xff\xff")
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert list(rows) == []
    with pytest.raises(ValueError, match='no table "orders"'):
        TpccRows("orders", 1, 5)
