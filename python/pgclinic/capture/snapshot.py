"""The state of a live server, read once: one connection, each query once, and nothing that waits for a lock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from pgclinic import __version__
from pgclinic.capture import sql_functions
from pgclinic.capture.impossible_figures import IMPOSSIBLE, impossible_gap
from pgclinic.capture.live_session import live_session
from pgclinic.capture.parts import COUNTERS, SETTINGS, STATE
from pgclinic.capture.reader import HIDDEN, LOCKED, PartReader
from pgclinic.capture.secret_values import without_secrets
from pgclinic.capture.steady_epoch import SteadyEpoch
from pgclinic.errors import RunFailedError
from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.model.snapshot import IndexState, Snapshot, TableState
from pgclinic.model.snapshot_counters import Counters
from pgclinic.model.twin import Gap
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.sql.fingerprint import without_constants
from pgclinic.sql.statement_comments import without_comments

#: A burst sees what an instant misses: waits that come and go.
BURST_SAMPLES, BURST_EVERY_S = 12, 0.05
OBSERVE_EVERY_S = 0.25
#: Statements that pg_stat_statements normalises; all others are kept with their constants by it.
_NORMALISED = re.compile(r"\s*(?:select|insert|update|delete|merge|with|values|table|\()", re.IGNORECASE)
#: What is read again and again during an observation.
SAMPLED: Mapping[str, Callable[[int], str]] = {
    "activity": lambda major: query("sample_activity", major),
    "locks": lambda major: query("sample_locks", major),
    "horizon": lambda major: query("sample_horizon", major),
    "lock_counts": lambda major: query("snapshot_lock_counts", major),
}
#: Of each sample of the locks, the processes with the most.
_PROCESSES_KEPT = 20
_TABLES_NAMED = 20
_CATALOGS = frozenset({"pg_catalog", "pg_toast"})


def take_snapshot(
    access: Access,
    *,
    observe_s: float = 0.0,
    on_second: Callable[[float], None] = lambda _: None,
    on_part: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """Read the server behind ``access``; with ``observe_s`` watch it for so long, between two readings of its counters.

    What cannot be read is left out, and ``gaps`` say why. ``on_second`` hears how many seconds it has been watched,
    ``on_part`` what of its state is read next.
    Raises UsageError when the server cannot be reached, RunFailedError when it is lost meanwhile.
    """
    clock = SteadyEpoch()
    with live_session(access) as session:
        reader = _reader(session, access)
        before = _counters(reader, clock) if observe_s else None
        samples = _samples(reader, access.major, clock, observe_s, on_second)
        counters = _counters(reader, clock)
        state: dict[str, Any] = {}
        for part in STATE:
            on_part(part.name)
            state[part.name] = reader.part(part)
        on_part("sizes")
        state["tables"], state["indexes"] = _with_sizes(reader, access.major, state["tables"], state["indexes"])
        on_part(sql_functions.PART)
        state[sql_functions.PART] = sql_functions.sql_functions(
            reader, access.major, counters.statements, state["statement_texts"]
        )
        on_part(SETTINGS.name)
        reader.rows("settings", dict[str, Any], query("session_as_configured", access.major))
        state[SETTINGS.name] = reader.part(SETTINGS)
        _note_hidden(reader, state)
    impossible = impossible_gap(reader.impossible)
    if impossible is not None:
        reader.gaps[IMPOSSIBLE] = impossible
    _hide_values(state)
    return Snapshot(
        pgclinic=__version__,
        taken_epoch_s=clock.began_epoch_s,
        took_s=clock.elapsed_s(),
        server=reader.server,
        counters=counters,
        counters_before=before,
        samples=samples,
        gaps=tuple(reader.gaps.values()),
        query_s=reader.query_s,
        **state,
    )


def _reader(session: Session, access: Access) -> PartReader:
    try:
        return PartReader(session, access.major)
    except QueryError as error:
        raise RunFailedError(f"the server does not say what it is: {error.message}") from error


def _counters(reader: PartReader, clock: SteadyEpoch) -> Counters:
    found: dict[str, Any] = {part.name: reader.part(part, "counters.") for part in COUNTERS}
    return Counters(at_epoch_s=clock.epoch_s(), **found)


def _samples(
    reader: PartReader, major: int, clock: SteadyEpoch, observe_s: float, on_second: Callable[[float], None]
) -> Samples:
    """What sessions wait for, again and again. A view that fails is not asked any more."""
    every_s = OBSERVE_EVERY_S if observe_s else BURST_EVERY_S
    count = max(1, round(observe_s / every_s)) if observe_s else BURST_SAMPLES
    taken: list[Sample] = []
    failed: dict[str, str] = {}
    gaps = 0
    began_s = time.monotonic()
    for number in range(count):
        wait_s = began_s + number * every_s - time.monotonic()
        if wait_s < -every_s:
            # What is late is left out, or a slow server would be asked without a pause.
            gaps += 1
            continue
        time.sleep(max(0.0, wait_s))
        on_second(time.monotonic() - began_s)
        for view, sql in SAMPLED.items():
            if view in failed:
                continue
            try:
                rows = reader.rows(f"samples.{view}", Row, sql(major))
            except QueryError as error:
                failed[view] = error.message
                continue
            kept = rows[:_PROCESSES_KEPT] if view == "lock_counts" else rows
            taken.append(Sample(at_s=clock.epoch_s(), view=view, rows=kept))
    return Samples(taken=tuple(taken), gaps=gaps, failed=failed)


def _with_sizes(
    reader: PartReader, major: int, tables: Sequence[TableState], indexes: Sequence[IndexState]
) -> tuple[tuple[TableState, ...], tuple[IndexState, ...]]:
    """The same tables and indexes with what takes a lock to read, as far as it was free."""
    bytes_of = {row["oid"]: row["bytes"] for row in _extra(reader, "sizes", query("snapshot_sizes", major))}
    texts = {row["oid"]: row for row in _extra(reader, "expressions", query("snapshot_index_expressions", major))}
    unread = [table.qualified for table in tables if table.kind != "p" and table.oid not in bytes_of]
    if unread and "sizes" not in reader.gaps:
        reader.gaps["sizes"] = Gap(what="sizes", problem=LOCKED, tables=tuple(unread[:_TABLES_NAMED]))
    return (
        tuple(
            replace(table, bytes=bytes_of.get(table.oid), toast_bytes=_toast_bytes(table, bytes_of)) for table in tables
        ),
        tuple(
            replace(
                index,
                bytes=bytes_of.get(index.oid),
                expressions=texts.get(index.oid, {}).get("expressions"),
                predicate=texts.get(index.oid, {}).get("predicate"),
                definition=texts.get(index.oid, {}).get("definition"),
            )
            for index in indexes
        ),
    )


def _toast_bytes(table: TableState, bytes_of: Mapping[int, int]) -> int | None:
    """An empty TOAST table is not asked for its size."""
    if table.toast_oid is None or table.toast_oid in bytes_of:
        return bytes_of.get(table.toast_oid or 0)
    return None if table.toast_pages or table.oid not in bytes_of else 0


def _extra(reader: PartReader, name: str, sql: str) -> tuple[dict[str, Any], ...]:
    """Rows of a query that may fail on a lock; it is asked once more, as the lock may be of a moment."""
    for _ in range(2):
        try:
            rows: tuple[dict[str, Any], ...] = reader.rows(name, dict[str, Any], sql)
        except QueryError as error:
            reader.gaps[name] = Gap(what=name, problem=error.message.splitlines()[0])
        else:
            reader.gaps.pop(name, None)
            return rows
    return ()


def _note_hidden(reader: PartReader, state: Mapping[str, Any]) -> None:
    """Gaps for what the server hides from this role without a word."""
    server = reader.server
    if not server.reads_all_statistics:
        for name in ("sessions", "counters.statements"):
            grant = reader.granted("grant pg_read_all_stats to {role}")
            reader.gaps.setdefault(name, Gap(what=name, problem=HIDDEN, grant=grant))
    if not server.reads_all_settings:
        grant = reader.granted("grant pg_read_all_settings to {role}")
        reader.gaps.setdefault("settings", Gap(what="settings", problem=HIDDEN, grant=grant))
    known = {(column.schema, column.table) for column in state["columns"]}
    blind = [
        table.qualified
        for table in state["tables"]
        if table.rows and table.schema not in _CATALOGS and (table.schema, table.name) not in known
    ]
    if blind and "columns" not in reader.gaps and "columns" not in reader.impossible:
        right = "grant pg_read_all_data to {role}" if server.major >= 14 else "grant select on the tables to {role}"
        reader.gaps["columns"] = Gap(
            what="columns", problem=HIDDEN, tables=tuple(blind[:_TABLES_NAMED]), grant=reader.granted(right)
        )
    closed = [f"{one.schema}.{one.name}" for one in state["sequences"] if not one.is_readable]
    if closed and "sequences" not in reader.gaps:
        reader.gaps["sequences"] = Gap(what="sequences", problem=HIDDEN, tables=tuple(closed[:_TABLES_NAMED]))


def _hide_values(state: dict[str, Any]) -> None:
    """Take secrets out of settings, and constants out of statements, in place."""
    known = {setting.name for setting in state["settings"]}

    def shown(name: str, value: str | None) -> str | None:
        return None if value is None else without_secrets(name, value, known)

    state["settings"] = tuple(
        replace(
            one,
            value=shown(one.name, one.value),
            default_value=shown(one.name, one.default_value),
            reset_value=shown(one.name, one.reset_value),
        )
        for one in state["settings"]
    )
    for part in ("file_settings", "role_settings"):
        state[part] = tuple(replace(one, value=shown(one.name, one.value)) for one in state[part])
    for part in ("sessions", "horizon"):
        state[part] = tuple(replace(one, query=without_constants(one.query or "") or None) for one in state[part])
    state["statement_texts"] = tuple(
        replace(
            one,
            text=without_comments(one.text) if _NORMALISED.match(one.text) else without_constants(one.text),
        )
        for one in state["statement_texts"]
    )
