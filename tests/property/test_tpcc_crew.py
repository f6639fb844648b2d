"""However tasks depend on each other and however many connections share them, the promises of a crew hold."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from pgclinic.load.crew import Task, Told, run_tasks
from pgclinic.pg.session import Session


class NoSession:
    def __enter__(self) -> NoSession:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Journal:
    """Who ran beside whom, and after whom."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.done: list[int] = []
        self.beside: set[frozenset[int]] = set()
        self.before: dict[int, set[int]] = {}

    def run(self, number: int) -> Callable[[Session, Told], None]:
        def work(session: Session, tell: Told) -> None:
            with self.lock:
                self.beside |= {frozenset((number, other)) for other in self.running}
                self.before[number] = set(self.done)
                self.running.add(number)
            tell(0.5)
            with self.lock:
                self.running.remove(number)
                self.done.append(number)

        return work


@st.composite
def plans(draw: st.DrawFn) -> list[tuple[set[int], set[str]]]:
    """For each task, earlier ones that it waits for and the tables that it locks."""
    count = draw(st.integers(1, 9))
    return [
        (
            draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set(),
            draw(st.sets(st.sampled_from(["a", "b", "c"]), max_size=2)),
        )
        for number in range(count)
    ]


@settings(max_examples=60, deadline=None)
@given(plan=plans(), order=st.randoms(use_true_random=False), connections=st.integers(1, 4))
def test_every_task_runs_once_after_its_own_and_alone_on_its_tables(
    plan: list[tuple[set[int], set[str]]], order: object, connections: int
) -> None:
    journal = Journal()
    tasks = [
        Task(str(number), journal.run(number), 1.0, frozenset(tables), frozenset(map(str, after)))
        for number, (after, tables) in enumerate(plan)
    ]
    order.shuffle(tasks)  # type: ignore[attr-defined]
    seen: list[float] = []
    times = run_tasks(
        tasks, lambda: cast("Session", NoSession()), connections, lambda _what, done, _total: seen.append(done)
    )
    assert sorted(journal.done) == list(range(len(plan)))
    assert sorted(int(time.name) for time in times) == list(range(len(plan)))
    assert seen[-1] == len(plan)
    for number, (after, tables) in enumerate(plan):
        assert after <= journal.before[number]
        assert all(
            not tables & plan[other][1] for pair in journal.beside if number in pair for other in pair - {number}
        )
