"""The recorded logs of 13 to 18: the same events from every format, with the figures that the server wrote."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.server_logs import FILES, FOLDER, events_of, only, read_new, settings_of
from pgclinic.model.log import (
    AnalyzeLogged,
    AnyLogEvent,
    CheckpointCompleted,
    CheckpointStarted,
    CheckpointsTooFrequent,
    ConnectionLogged,
    Deadlock,
    ErrorLogged,
    LockWait,
    LogPosition,
    MemoryDump,
    PlanLogged,
    ProcessEnded,
    ServerPhase,
    SlowStatement,
    TemporaryFile,
    VacuumLogged,
)
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.follow import LogReader

pytestmark = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
ORIGIN = ("user", "database", "application_name", "backend_type", "session_id", "query_id")


def test_every_entry_is_read_and_understood(path: Path) -> None:
    reading = read_new(LogReader(path, settings_of(path)), LogPosition(), everything=True)
    collector = EventCollector()
    collector.feed(reading.entries)
    assert len(reading.entries) > 90
    assert reading.unparsed == 0
    assert reading.bytes_read == path.stat().st_size
    assert (collector.counts.not_understood, collector.counts.undated) == (0, 0)


def test_what_is_passed_unread_holds_no_event(path: Path) -> None:
    everything = EventCollector()
    everything.feed(read_new(LogReader(path, settings_of(path)), LogPosition(), everything=True).entries)
    assert everything.counts.events == len(events_of(path))


def test_the_formats_tell_the_same(path: Path) -> None:
    """Entries of two processes may stand in another order, so each process is compared with itself."""
    plain, other = by_process(events_of(FOLDER / f"{path.stem}.log")), by_process(events_of(path))
    assert plain.keys() == other.keys()
    for pid, events in plain.items():
        for one, two in zip(events, other[pid], strict=True):
            assert comparable(one, two) == comparable(two, one)


def by_process(events: list[AnyLogEvent]) -> dict[int | None, list[AnyLogEvent]]:
    found = defaultdict(list)
    for event in events:
        found[event.origin.pid].append(event)
    return found


def comparable(event: AnyLogEvent, other: AnyLogEvent) -> dict[str, Any]:
    """What both know: a prefix tells less than a record, %t leaves out the milliseconds and has no SQLSTATE."""
    known: dict[str, Any] = msgspec.to_builtins(event)
    known["origin"] = {
        name: getattr(event.origin, name)
        for name in ORIGIN
        if None not in (getattr(event.origin, name), getattr(other.origin, name))
    }
    known["second"] = (event.origin.at_us or 0) // 1_000_000
    known.pop("interval_us", None)
    for name in ("query_id", "sqlstate"):
        if None in (getattr(event, name, None), getattr(other, name, None)):
            known.pop(name, None)
    return known


def test_vacuums(path: Path) -> None:
    vacuums = only(events_of(path), VacuumLogged)
    removing, held, *_ = [vacuum for vacuum in vacuums if vacuum.table == "postgres.public.orders" and vacuum.automatic]
    assert (removing.tuples_removed, removing.tuples_remain, removing.tuples_dead_not_removable) == (2000, 2000, 0)
    assert (removing.pages_removed, removing.pages_remain, removing.index_scans) == (0, 69, 1)
    assert (held.tuples_removed, held.tuples_remain, held.tuples_dead_not_removable) == (0, 4000, 2000)
    assert removing.removable_cutoff is not None and held.removable_cutoff is not None
    assert removing.use.buffer_hits is not None and removing.use.buffer_hits > 100
    assert removing.use.wal_records is not None and removing.use.wal_records > 200
    assert removing.use.wal_bytes is not None and removing.use.wal_bytes > 20_000
    assert None not in (removing.use.cpu_user_us, removing.use.elapsed_us, removing.use.read_rate_bytes_per_s)
    (forced,) = [
        vacuum for vacuum in vacuums if vacuum.table == "postgres.public.old_rows" and vacuum.to_prevent_wraparound
    ]
    assert not forced.aggressive
    assert not removing.to_prevent_wraparound


def test_what_later_versions_add_to_a_vacuum(path: Path) -> None:
    major, vacuums = int(path.stem), only(events_of(path), VacuumLogged)
    one = next(vacuum for vacuum in vacuums if vacuum.index_scans == 1)
    assert [index.name for index in one.indexes] == (["orders_pkey"] if major >= 14 else [])
    assert one.indexes_why == ("needed" if major >= 14 else None)
    assert one.dead_items == (2000 if major >= 14 else None)
    assert (one.use.io_read_us is not None) == (major >= 14)
    assert one.pages_scanned == (69 if major >= 15 else None)
    assert one.pages_skipped_pinned == (None if major >= 15 else 0)
    assert one.cutoff_age_xids == (0 if major >= 15 else None)
    assert (one.tuples_frozen is not None) == (major >= 16)
    assert one.pages_set_all_visible == (69 if major >= 18 else None)
    assert one.use.wal_buffers_full == (0 if major >= 18 else None)
    by_hand = [vacuum for vacuum in vacuums if not vacuum.automatic]
    assert bool(by_hand) == (major >= 15), "VACUUM VERBOSE writes the same report since 15"


def test_analyzes(path: Path) -> None:
    analyzes = only(events_of(path), AnalyzeLogged)
    automatic = [analyze for analyze in analyzes if analyze.automatic]
    assert {one.table for one in automatic} == {"postgres.public.orders"}
    assert all(one.use.elapsed_us is not None for one in automatic)
    assert all((one.use.buffer_hits is not None) == (int(path.stem) >= 14) for one in automatic)
    assert len(automatic) == 2


def test_checkpoints(path: Path) -> None:
    events = only(events_of(path), CheckpointStarted), only(events_of(path), CheckpointCompleted)
    started, completed = events
    assert {"wal"} in [set(one.reasons) for one in started]
    asked = next(one for one in completed if "force" in one.reasons)
    assert asked.reasons == ("immediate", "force", "wait")
    assert asked.buffers_written > 0 and asked.total_us > 0
    for one in completed:
        assert 0 <= one.buffers_share <= 1
        assert one.estimate_bytes % 1024 == 0
        assert (one.lsn is not None) == (int(path.stem) >= 16)
        assert (one.slru_buffers_written is not None) == (int(path.stem) >= 18)
    assert any(one.interval_us is not None and one.interval_us < 10_000_000 for one in completed)
    assert any(one.distance_bytes > 16 * 1024 * 1024 for one in completed)
    complaints = only(events_of(path), CheckpointsTooFrequent)
    assert complaints and all(0 <= complaint.apart_s < 30 for complaint in complaints)


def test_statements(path: Path) -> None:
    statements = only(events_of(path), SlowStatement)
    bound = [statement for statement in statements if statement.text == "select $1::text, $2::int, $3::text"]
    assert [one.phase for one in bound] == ["parse", "bind", "execute"]
    assert {one.name for one in bound} == {"_pg3_0"}
    assert bound[2].parameters == "$1 = 'it''s', $2 = '7', $3 = NULL"
    lines = next(statement for statement in statements if statement.text and '"Series"' in statement.text)
    assert lines.phase == "statement"
    assert lines.text is not None and lines.text.splitlines()[1] == "       'a second line'"
    assert [statement.phase for statement in statements].count("unknown") == 2
    assert all(statement.duration_us > 0 for statement in statements)


def test_plans(path: Path) -> None:
    plans = only(events_of(path), PlanLogged)
    many_lines = next(plan for plan in plans if plan.query_text and '"Series"' in plan.query_text)
    assert many_lines.query_text is not None and len(many_lines.query_text.splitlines()) == 3
    assert "Rows Removed by Filter: 42857" in many_lines.plan
    (as_json,) = [plan for plan in plans if plan.plan_format == "json"]
    assert as_json.query_text == "select count(*) from pg_class, pg_sleep(0.03)"
    assert msgspec.json.decode(as_json.plan)["Plan"]["Node Type"] == "Aggregate"
    in_prefix_or_record = path.suffix != ".log" or path.stem in ("14", "18")
    in_plan = int(path.stem) >= 16
    identified = [plan.query_id is not None for plan in plans]
    assert all(identified) if int(path.stem) >= 14 and (in_prefix_or_record or in_plan) else not any(identified)


def test_a_plan_has_the_query_id_of_its_statement(path: Path) -> None:
    events = events_of(path)
    durations = {one.text: one.origin.query_id for one in only(events, SlowStatement) if one.origin.query_id}
    pairs = [
        (plan.query_id, durations[plan.query_text]) for plan in only(events, PlanLogged) if plan.query_text in durations
    ]
    assert all(one == two for one, two in pairs)
    assert bool(pairs) == (int(path.stem) >= 14 and (path.suffix != ".log" or path.stem in ("14", "18")))


def test_temporary_files(path: Path) -> None:
    files = only(events_of(path), TemporaryFile)
    sorting = [file for file in files if file.statement and "order by n desc" in file.statement]
    assert sorting and sum(one.size_bytes for one in sorting) > 1_000_000
    assert all(file.path.startswith("base/pgsql_tmp/") for file in files)


def test_lock_waits_and_the_deadlock(path: Path) -> None:
    events = events_of(path)
    waits = [one for one in only(events, LockWait) if one.mode == "AccessShareLock"]
    assert [one.outcome for one in waits] == ["still waiting", "acquired"]
    assert waits[0].target.startswith("relation ")
    assert waits[0].queue == (waits[0].waiting_pid,)
    assert len(waits[0].holders) == 1
    assert 50_000 <= waits[0].waited_us < waits[1].waited_us
    assert waits[0].statement == "lock table old_rows, orders in access share mode"
    (circle,) = only(events, Deadlock)
    one, two = circle.processes
    assert (one.blocked_by, two.blocked_by) == (two.pid, one.pid)
    assert one.mode == two.mode == "ShareLock"
    assert {one.statement, two.statement} == {
        "update orders set note = 'b' where id = 1",
        "update orders set note = 'a' where id = 3",
    }
    assert [wait.outcome for wait in only(events, LockWait)].count("deadlock") == 1


def test_errors_by_sqlstate(path: Path) -> None:
    errors = only(events_of(path), ErrorLogged)
    messages = {error.message: error for error in errors}
    assert messages["only a warning"].severity == "WARNING"
    assert messages['database "nowhere" does not exist'].severity == "FATAL"
    assert messages['relation "missing" does not exist'].statement == "select *\n  from missing\n where true"
    if path.suffix == ".log" and path.stem not in ("14", "17"):
        assert {error.sqlstate for error in errors} == {None}, "this prefix has no %e"
    else:
        states = Counter(error.sqlstate for error in errors)
        assert {"22012", "23505", "42P01", "PC001", "01000", "57014", "3D000", "40P01"} <= set(states)


def test_the_words_of_a_function_are_no_event(path: Path) -> None:
    entries = read_new(LogReader(path, settings_of(path)), LogPosition()).entries
    (raised,) = [entry for entry in entries if entry.message == "two lines\nof a LOG:  message"]
    assert EventCollector().feed([msgspec.structs.replace(raised, message="checkpoint starting: time")]) == []


def test_the_memory_dump(path: Path) -> None:
    dumps = only(events_of(path), MemoryDump)
    assert len(dumps) == (1 if int(path.stem) >= 14 else 0)
    for dump in dumps:
        assert dump.complete
        assert dump.dumped_pid == dump.origin.pid
        assert dump.contexts[0].name == "TopMemoryContext"
        assert dump.contexts[0].level == (1 if int(path.stem) >= 18 else 0)
        assert {"CacheMemoryContext", "MessageContext", "ErrorContext"} <= {line.name for line in dump.contexts}
        listed = sum(line.used_bytes for line in dump.contexts)
        assert 0 < listed < dump.used_bytes, "the recording leaves out the contexts of indexes"
        assert dump.free_bytes + dump.used_bytes == dump.total_bytes
        assert all(line.used_bytes + line.free_bytes == line.total_bytes for line in dump.contexts)


def test_the_crash_and_the_recovery(path: Path) -> None:
    events = events_of(path)
    killed = next(one for one in only(events, ProcessEnded) if one.signal)
    assert (killed.signal, killed.exit_code, killed.running) == (9, None, "select pg_sleep(20)")
    phases = [one.phase for one in only(events, ServerPhase)]
    assert phases == [
        *("starting", "was shut down", "ready"),
        *("ending all processes", "reinitializing", "was interrupted", "recovering", "redo started", "redo done"),
        *("ready", "shutdown requested", "shutting down", "stopped"),
    ]


def test_connections_are_counted(path: Path) -> None:
    steps = Counter(one.step for one in only(events_of(path), ConnectionLogged))
    assert steps["received"] >= steps["authorized"] >= steps["disconnected"] >= 7
    assert bool(steps["authenticated"]) == (int(path.stem) >= 17), "before, trust is no authentication"
    assert all(
        (one.session_us is not None) == (one.step == "disconnected") for one in only(events_of(path), ConnectionLogged)
    )
