"""Messages that the recorded logs do not hold: other outcomes, other formats of a plan, dumps that are cut off."""

from __future__ import annotations

import pytest

from pgclinic.model.log import (
    AnyLogEvent,
    CheckpointCompleted,
    ConnectionLogged,
    ContextLine,
    Deadlock,
    LockWait,
    LogEntry,
    LogOrigin,
    MemoryDump,
    PlanLogged,
    ProcessEnded,
    ServerPhase,
    SlowStatement,
    VacuumLogged,
)
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.memory import context_line


def entry(message: str, *, severity: str = "LOG", pid: int = 77, at_us: int = 0, **parts: str) -> LogEntry:
    return LogEntry(origin=LogOrigin(at_us=at_us, pid=pid), severity=severity, message=message, **parts)


def one(message: str, *, severity: str = "LOG", **parts: str) -> AnyLogEvent:
    (event,) = EventCollector().feed([entry(message, severity=severity, **parts)])
    return event


@pytest.mark.parametrize(
    ("headline", "aggressive", "wraparound", "automatic"),
    [
        ("automatic vacuum of table", False, False, True),
        ("automatic aggressive vacuum of table", True, False, True),
        ("automatic vacuum to prevent wraparound of table", False, True, True),
        ("automatic aggressive vacuum to prevent wraparound of table", True, True, True),
        ("finished vacuuming", False, False, False),
        ("finished aggressive vacuuming", True, False, False),
    ],
)
def test_every_headline_of_a_vacuum(headline: str, aggressive: bool, wraparound: bool, automatic: bool) -> None:
    event = one(f'{headline} "shop.public.a "b"": index scans: 3')
    assert isinstance(event, VacuumLogged)
    assert (event.table, event.index_scans) == ('shop.public.a "b"', 3)
    assert (event.aggressive, event.to_prevent_wraparound, event.automatic) == (aggressive, wraparound, automatic)
    assert event.tuples_removed is None


def test_rare_lines_of_a_vacuum() -> None:
    event = one(
        'automatic vacuum of table "a.b.c": index scans: 0\n'
        "tuples: 5 removed, 7 remain, 9 are dead but not yet removable\n"
        "tuples missed: 3 dead from 2 pages not removed due to cleanup lock contention\n"
        "index scan bypassed by failsafe: 4 pages from table (80.00% of total) have 60 dead item identifiers\n"
        "delay time: 12.500 ms\n"
        "avg read rate: 1.500 MB/s, avg write rate: 0.500 MB/s"
    )
    assert isinstance(event, VacuumLogged)
    assert (event.tuples_removed, event.tuples_dead_not_removable, event.tuples_missed) == (5, 9, 3)
    assert (event.indexes_why, event.pages_with_dead_items, event.dead_items) == ("bypassed by failsafe", 4, 60)
    assert event.use.delay_us == 12_500
    assert event.use.read_rate_bytes_per_s == 1.5 * 1024 * 1024


def test_a_restartpoint_and_its_interval() -> None:
    done = (
        "restartpoint complete: wrote 10 buffers (0.1%); 1 WAL file(s) added, 2 removed, 3 recycled; write=1.500 s, "
        "sync=0.002 s, total=2.000 s; sync files=4, longest=0.001 s, average=0.001 s; distance=5 kB, estimate=6 kB"
    )
    events = EventCollector().feed(
        [
            entry("restartpoint starting: time", at_us=1_000_000),
            entry(done, at_us=2_000_000),
            entry("restartpoint starting: force wait", at_us=31_000_000),
            entry(done, at_us=33_000_000),
        ]
    )
    first, second = (event for event in events if isinstance(event, CheckpointCompleted))
    assert first.restartpoint and second.restartpoint
    assert (first.interval_us, second.interval_us) == (None, 30_000_000)
    assert (first.reasons, second.reasons) == (("time",), ("force", "wait"))
    assert (second.wal_files_added, second.wal_files_removed, second.wal_files_recycled) == (1, 2, 3)
    assert (second.write_us, second.sync_us, second.total_us) == (1_500_000, 2000, 2_000_000)
    assert (second.distance_bytes, second.lsn) == (5 * 1024, None)


@pytest.mark.parametrize(
    ("words", "outcome", "tail"),
    [
        ("still waiting for", "still waiting", ""),
        ("acquired", "acquired", ""),
        ("failed to acquire", "failed", ""),
        ("detected deadlock while waiting for", "deadlock", ""),
        ("avoided deadlock for", "deadlock avoided", " by rearranging queue order"),
    ],
)
@pytest.mark.parametrize(
    "target",
    [
        "transaction 9",
        "relation 16 of database 5",
        "tuple (0,2) of relation 16 of database 5",
        "advisory lock [5,1,2,1]",
    ],
)
def test_lock_waits(words: str, outcome: str, tail: str, target: str) -> None:
    mode, message = "ExclusiveLock", f"process 5 {words} ExclusiveLock on {target}{tail} after 50.1 ms"
    event = one(message, detail="Processes holding the lock: 7, 8. Wait queue: 5, 6.")
    assert isinstance(event, LockWait)
    assert (event.outcome, event.mode, event.target, event.waited_us) == (outcome, mode, target, 50_100)
    assert (event.holders, event.queue) == ((7, 8), (5, 6))


def test_a_deadlock_of_three_with_statements_of_several_lines() -> None:
    detail = (
        "Process 1 waits for ShareLock on transaction 10; blocked by process 2.\n"
        "Process 2 waits for ExclusiveLock on tuple (0,1) of relation 4 of database 5; blocked by process 3.\n"
        "Process 3 waits for ShareLock on transaction 11; blocked by process 1.\n"
        "Process 1: update a\nset b = 1\nProcess 2: select 1\nProcess 3: <insufficient privilege>"
    )
    _, event = EventCollector().feed([entry("deadlock detected", severity="ERROR", sqlstate="40P01", detail=detail)])
    assert isinstance(event, Deadlock)
    assert [(each.pid, each.blocked_by) for each in event.processes] == [(1, 2), (2, 3), (3, 1)]
    assert [each.statement for each in event.processes] == [
        "update a\nset b = 1",
        "select 1",
        "<insufficient privilege>",
    ]


def test_a_deadlock_in_a_terse_log_is_one_still() -> None:
    _, event = EventCollector().feed([entry("deadlock detected", severity="ERROR")])
    assert isinstance(event, Deadlock) and event.processes == ()


@pytest.mark.parametrize(
    ("message", "phase", "name", "text"),
    [
        ("duration: 1.500 ms", "unknown", None, None),
        ("duration: 1.500 ms  statement: a: b", "statement", None, "a: b"),
        ("duration: 1.500 ms  execute <unnamed>: select\n1", "execute", None, "select\n1"),
        ("duration: 1.500 ms  execute s1/p1: x", "execute", "s1/p1", "x"),
        ("duration: 1.500 ms  execute fetch from s1/c: x", "fetch", "s1/c", "x"),
        ("duration: 1.500 ms  bind s1: x", "bind", "s1", "x"),
    ],
)
def test_durations(message: str, phase: str, name: str | None, text: str | None) -> None:
    event = one(message, detail="Parameters: $1 = 'a'")
    assert isinstance(event, SlowStatement)
    assert (event.duration_us, event.phase, event.name, event.text) == (1500, phase, name, text)
    assert event.parameters == "$1 = 'a'"


@pytest.mark.parametrize(
    ("plan", "plan_format", "text", "identifier"),
    [
        ("Query Text: a\nb\nResult  (cost=0.00..0.01 rows=1 width=4)\nQuery Identifier: -9", "text", "a\nb", -9),
        ("Query Text: a\nQuery Parameters: $1 = '2'\nResult  (cost=0.00..0.01 rows=1 width=4)", "text", "a", None),
        ('{\n  "Query Text": "a \\"b\\"",\n  "Plan": {},\n  "Query Identifier": 12\n}', "json", 'a "b"', 12),
        ('{\n  "Query Text": "cut', "json", None, None),
        (
            '<explain xmlns="x">\n  <Query-Text>a &lt; b &amp;&amp; c</Query-Text>\n  <Plan>\n  </Plan>\n'
            "  <Query-Identifier>5</Query-Identifier>\n</explain>",
            *("xml", "a < b && c", 5),
        ),
        ('Query Text: "a\\nb"\nPlan: \n  Node Type: "Result"\nQuery Identifier: 5', "yaml", "a\nb", 5),
    ],
)
def test_plans_in_every_format(plan: str, plan_format: str, text: str | None, identifier: int | None) -> None:
    event = one(f"duration: 1.500 ms  plan:\n{plan}")
    assert isinstance(event, PlanLogged)
    assert (event.plan_format, event.query_text, event.query_id) == (plan_format, text, identifier)
    assert (event.duration_us, event.plan) == (1500, plan)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "level: 2; CacheMemoryContext: 524288 total in 7 blocks; 110632 free (3 chunks); 413656 used",
            ContextLine(
                level=2,
                name="CacheMemoryContext",
                ident=None,
                more=None,
                total_bytes=524288,
                total_blocks=7,
                free_bytes=110632,
                free_chunks=3,
                used_bytes=413656,
            ),
        ),
        (
            "level: 4; index info: x: 2048 total in 2 blocks; 968 free (1 chunks); 1080 used: pg_class_oid_index",
            ContextLine(
                level=4,
                name="index info: x",
                ident="pg_class_oid_index",
                more=None,
                total_bytes=2048,
                total_blocks=2,
                free_bytes=968,
                free_chunks=1,
                used_bytes=1080,
            ),
        ),
        (
            "level: 3; 12 more child contexts containing 24576 total in 24 blocks; 8000 free (4 chunks); 16576 used",
            ContextLine(
                level=3,
                name="12 more child contexts",
                ident=None,
                more=12,
                total_bytes=24576,
                total_blocks=24,
                free_bytes=8000,
                free_chunks=4,
                used_bytes=16576,
            ),
        ),
        (
            "level: 3; Slab: 8192 total in 1 blocks; 2 empty blocks; 100 free (5 chunks); 8092 used",
            ContextLine(
                level=3,
                name="Slab",
                ident=None,
                more=None,
                total_bytes=8192,
                total_blocks=1,
                free_bytes=100,
                free_chunks=5,
                used_bytes=8092,
            ),
        ),
        ("level: 3; no sizes", None),
    ],
)
def test_memory_contexts(message: str, expected: ContextLine | None) -> None:
    assert context_line(message) == expected


def test_dumps_of_two_processes_may_interleave_and_be_cut_off() -> None:
    collector = EventCollector()
    sizes = "8 total in 1 blocks; 2 free (1 chunks); 6 used"
    first = collector.feed(
        [
            entry("logging memory contexts of PID 1", pid=1),
            entry("logging memory contexts of PID 2", pid=2),
            entry(f"level: 0; a: {sizes}", pid=1),
            entry(f"level: 0; b: {sizes}", pid=2),
            entry("checkpoint starting: time", pid=1),
            entry("Grand total: 8 bytes in 1 blocks; 2 free (1 chunks); 6 used", pid=2),
        ]
    )
    (done,) = [event for event in first if isinstance(event, MemoryDump)]
    assert (done.dumped_pid, done.complete, done.used_bytes) == (2, True, 6)
    assert [line.name for line in done.contexts] == ["b"]
    (cut,) = collector.finish()
    assert (cut.dumped_pid, cut.complete, [line.name for line in cut.contexts]) == (1, False, ["a"])


@pytest.mark.parametrize(
    ("message", "process", "signal", "code"),
    [
        ("server process (PID 5) was terminated by signal 11: Segmentation fault", "server process", 11, None),
        ("server process (PID 5) exited with exit code 2", "server process", None, 2),
        ('background worker "x y" (PID 5) exited with exit code 1', 'background worker "x y"', None, 1),
    ],
)
def test_ended_processes(message: str, process: str, signal: int | None, code: int | None) -> None:
    event = one(message)
    assert isinstance(event, ProcessEnded)
    assert (event.process, event.ended_pid, event.signal, event.exit_code) == (process, 5, signal, code)


@pytest.mark.parametrize(
    ("message", "phase"),
    [
        ("database system is ready to accept read-only connections", "ready read-only"),
        ("database system is ready to accept read only connections", "ready read-only"),
        ("received immediate shutdown request", "shutdown requested"),
        ("received SIGHUP, reloading configuration files", "reloading"),
        ("database system was shut down in recovery at 2026-11-21", "was shut down"),
        ("database system is shut down", "stopped"),
    ],
)
def test_phases(message: str, phase: str) -> None:
    event = one(message)
    assert isinstance(event, ServerPhase) and event.phase == phase


def test_how_long_a_session_lasted() -> None:
    event = one("disconnection: session time: 26:01:02.003 user=a database=b host=[local]")
    assert isinstance(event, ConnectionLogged)
    assert event.session_us == ((26 * 60 + 1) * 60 + 2) * 1_000_000 + 3000


def test_numbers_that_no_server_writes_are_not_understood() -> None:
    collector = EventCollector()
    assert collector.feed([entry('temporary file: path "x", size ' + "9" * 5000)]) == []
    assert collector.counts.not_understood == 1
