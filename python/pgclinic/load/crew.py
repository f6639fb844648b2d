"""Work that several connections share: tasks that wait for each other and never meet on a table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pgclinic.pg.session import Session

TICK_S = 0.2
JOIN_LIMIT_S = 5.0

Told = Callable[[float], None]


@dataclass(frozen=True)
class Task:
    """``run`` gets a session and may tell its own progress from 0 to 1.

    ``after`` names the tasks that must be done before, ``tables`` what it locks: of two that lock the same table one
    would only wait for the other, on a connection that has better to do. ``cost`` is its share of the whole.
    """

    name: str
    run: Callable[[Session, Told], None]
    cost: float
    tables: frozenset[str]
    after: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TaskTime:
    name: str
    elapsed_s: float


@dataclass
class _Board:
    """What all threads see, under its condition's lock."""

    waiting: list[Task]
    changed: threading.Condition = field(default_factory=threading.Condition)
    running: dict[str, Task] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    times: list[TaskTime] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    error: BaseException | None = None
    stopped: bool = False

    def take(self) -> Task | None:
        """The first task that can begin now, waited for; None when there is nothing left to do."""
        with self.changed:
            while self.waiting and not self.stopped:
                task = next(filter(self._can_begin, self.waiting), None)
                if task is not None:
                    self.waiting.remove(task)
                    self.running[task.name] = task
                    return task
                self.changed.wait()
            return None

    def _can_begin(self, task: Task) -> bool:
        unfinished = {other.name for other in self.waiting} | self.running.keys()
        busy = {table for other in self.running.values() for table in other.tables}
        return not task.after & unfinished and not task.tables & busy

    def finish(self, task: Task, elapsed_s: float) -> None:
        with self.changed:
            del self.running[task.name]
            self.shares[task.name] = 1.0
            self.times.append(TaskTime(task.name, elapsed_s))
            self.changed.notify_all()

    def stop(self, error: BaseException | None) -> None:
        """No further task begins. The first error is the one to blame; those that follow come from stopping."""
        with self.changed:
            if not self.stopped:
                self.error = error
            self.stopped = True
            self.changed.notify_all()

    def join(self, session: Session) -> None:
        with self.changed:
            self.sessions.append(session)

    def leave(self, session: Session) -> None:
        """Before it is closed: a connection that is gone must not be abandoned, its number may be another's by then."""
        with self.changed:
            self.sessions.remove(session)

    def abandon_all(self) -> None:
        with self.changed:
            for session in self.sessions:
                session.abandon()


class _StoppedError(Exception):
    """Raised within a task to end it."""


def run_tasks(
    tasks: Sequence[Task],
    open_session: Callable[[], Session],
    connections: int,
    on_progress: Callable[[str, float, float], None],
) -> tuple[TaskTime, ...]:
    """Run all tasks, those that can begin first in the order given, and return their times in the order they ended.

    ``on_progress`` gets what runs, the cost of what is done and of everything, in this thread. The first error of a
    task, and whatever is raised in this thread (Ctrl-C), ends all others at once and is raised.
    """
    board = _Board(list(tasks))
    threads = [
        threading.Thread(target=_work, args=(board, open_session), name=f"crew-{number}", daemon=True)
        for number in range(min(connections, len(tasks)))
    ]
    try:
        for thread in threads:
            thread.start()
        ended = False
        while not ended:
            with board.changed:
                ended = board.changed.wait_for(lambda: board.stopped or len(board.times) == len(tasks), TICK_S)
            on_progress(*_progress(board, tasks))
    finally:
        _dismiss(board, threads, undisturbed=len(board.times) == len(tasks))
    if board.error is not None:
        raise board.error
    return tuple(board.times)


def _progress(board: _Board, tasks: Sequence[Task]) -> tuple[str, float, float]:
    with board.changed:
        done = sum(task.cost * board.shares.get(task.name, 0.0) for task in tasks)
        return ", ".join(board.running), done, sum(task.cost for task in tasks)


def _dismiss(board: _Board, threads: Sequence[threading.Thread], *, undisturbed: bool) -> None:
    """Wait for the threads; those that have work left are made to drop it."""
    if not undisturbed:
        board.stop(None)
        board.abandon_all()
    limit_s = time.monotonic() + JOIN_LIMIT_S
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, limit_s - time.monotonic()))


def _work(board: _Board, open_session: Callable[[], Session]) -> None:
    """One thread: a connection of its own, and tasks until none is left."""
    try:
        with open_session() as session:
            board.join(session)
            try:
                _work_off(board, session)
            finally:
                board.leave(session)
    except _StoppedError:
        return
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
        board.stop(error)


def _work_off(board: _Board, session: Session) -> None:
    while (task := board.take()) is not None:
        began_s = time.monotonic()
        task.run(session, partial(_note, board, task))
        board.finish(task, time.monotonic() - began_s)


def _note(board: _Board, task: Task, share: float) -> None:
    with board.changed:
        board.shares[task.name] = share
        if board.stopped:
            raise _StoppedError
