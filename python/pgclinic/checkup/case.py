"""A snapshot as a detector asks it: settings as numbers, counters as rates, tables with all that is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pgclinic.checkup.statement_time import Meanwhile, ObservedTime, observed_longer, observed_times, times_since_reset
from pgclinic.model.host import HostState
from pgclinic.model.query_plan import QueryPlan
from pgclinic.model.sample import Row, Sample
from pgclinic.model.server_log import ServerLog
from pgclinic.model.snapshot import ColumnSummary, IndexState, SessionState, SettingState, Snapshot, TableState
from pgclinic.model.snapshot_counters import (
    Counters,
    DatabaseCounters,
    IndexCounters,
    StatementCounters,
    TableCounters,
)
from pgclinic.settings.units import amount_of, shown_value
from pgclinic.sql.fingerprint import normalised

SYSTEM_SCHEMAS = frozenset({"pg_catalog", "pg_toast", "information_schema"})
#: Names that this program gives its own sessions begin so.
OWN_APPLICATION = "pgclinic"
_NOTHING_MORE = Meanwhile()
#: Sessions that work for somebody.
_WORKING = frozenset({"client backend", "parallel worker"})


@dataclass(frozen=True)
class Table:
    """A table with its indexes and counters."""

    state: TableState
    counters: TableCounters | None
    indexes: tuple[Index, ...]

    @property
    def name(self) -> str:
        return self.state.qualified

    @property
    def live(self) -> float:
        """Rows: as counted, or if nothing was ever counted as the planner knows them."""
        counted = self.counters.live if self.counters is not None else 0
        return float(counted or max(self.state.rows or 0.0, 0.0))

    @property
    def dead(self) -> int:
        return self.counters.dead if self.counters is not None else 0

    @property
    def total_bytes(self) -> int:
        """Heap, TOAST and indexes, as far as their sizes could be read."""
        own = (self.state.bytes or 0) + (self.state.toast_bytes or 0)
        return own + sum(index.state.bytes or 0 for index in self.indexes)

    def option(self, name: str) -> str | None:
        """A storage parameter: ``fillfactor``, ``autovacuum_enabled``."""
        return next(
            (option.partition("=")[2] for option in self.state.options if option.partition("=")[0] == name), None
        )


@dataclass(frozen=True)
class Index:
    state: IndexState
    counters: IndexCounters | None

    @property
    def qualified(self) -> str:
        return f"{self.state.schema}.{self.state.name}"


@dataclass(frozen=True)
class Statement:
    """One statement of one role with its text. Constants of the text are parameters or question marks."""

    query_id: int
    text: str
    counters: StatementCounters


@dataclass(frozen=True)
class Case:
    """``host`` is None away from the server's machine, ``log`` without a log. ``meanwhile`` is what was seen of the
    statements after the snapshot, while a twin was made."""

    snapshot: Snapshot
    host: HostState | None = None
    log: ServerLog | None = None
    meanwhile: Meanwhile = _NOTHING_MORE

    @property
    def major(self) -> int:
        return self.snapshot.server.major

    # Settings

    @cached_property
    def settings(self) -> Mapping[str, SettingState]:
        return {setting.name: setting for setting in self.snapshot.settings}

    def word(self, name: str) -> str | None:
        """A setting's value as pg_settings has it, without a unit; None where this server has no such setting."""
        found = self.settings.get(name)
        return found.value if found is not None else None

    def is_on(self, name: str) -> bool:
        return self.word(name) == "on"

    def number(self, name: str) -> float | None:
        """A setting in bytes, in seconds, or as the plain number it is. -1 and 0 stay what they are."""
        found = self.settings.get(name)
        if found is None:
            return None
        return amount_of(found.value, found.unit)

    def default(self, name: str) -> float | None:
        """The same of the value that it has out of the box."""
        found = self.settings.get(name)
        if found is None or found.default_value is None:
            return None
        return amount_of(found.default_value, found.unit)

    def shown(self, name: str) -> str:
        """A setting's value with its unit, as SHOW prints it."""
        found = self.settings.get(name)
        return "" if found is None else shown_value(found.value, found.unit)

    def shown_default(self, name: str) -> str | None:
        """Its value out of the box, likewise."""
        found = self.settings.get(name)
        if found is None or found.default_value is None:
            return None
        return shown_value(found.default_value, found.unit)

    # Tables and indexes

    @cached_property
    def all_tables(self) -> Mapping[int, Table]:
        """By oid, catalogs among them."""
        counters = {table.oid: table for table in self.snapshot.counters.tables}
        index_counters = {index.oid: index for index in self.snapshot.counters.indexes}
        indexes: dict[int, list[Index]] = {}
        for index in self.snapshot.indexes:
            indexes.setdefault(index.table_oid, []).append(Index(state=index, counters=index_counters.get(index.oid)))
        return {
            table.oid: Table(state=table, counters=counters.get(table.oid), indexes=tuple(indexes.get(table.oid, ())))
            for table in self.snapshot.tables
        }

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables of users that have rows of their own: no catalogs, no partitioned tables, nothing temporary."""
        return tuple(
            table
            for table in self.all_tables.values()
            if table.state.schema not in SYSTEM_SCHEMAS and table.state.kind != "p" and table.state.persistence != "t"
        )

    @cached_property
    def tables_named(self) -> Mapping[str, tuple[Table, ...]]:
        """The tables of users by their names without a schema."""
        named: dict[str, tuple[Table, ...]] = {}
        for table in self.tables:
            named[table.state.name] = (*named.get(table.state.name, ()), table)
        return named

    @cached_property
    def columns_by_table(self) -> Mapping[tuple[str, str], Mapping[str, ColumnSummary]]:
        """What ANALYZE found of each table's own rows, by schema and table, then by column."""
        found: dict[tuple[str, str], dict[str, ColumnSummary]] = {}
        for column in self.snapshot.columns:
            if not column.inherited:
                found.setdefault((column.schema, column.table), {})[column.column] = column
        return found

    @cached_property
    def _tables_before(self) -> Mapping[int, TableCounters]:
        before = self.snapshot.counters_before
        return {table.oid: table for table in before.tables} if before is not None else {}

    def table_change(self, oid: int, field: str) -> float:
        """By how much a counter of a table grew during the observation; 0 without one."""
        now, before = self.all_tables.get(oid), self._tables_before.get(oid)
        if now is None or now.counters is None or before is None:
            return 0.0
        return _grown(getattr(now.counters, field), getattr(before, field))

    @cached_property
    def columns(self) -> Mapping[tuple[str, str, str], ColumnSummary]:
        """What ANALYZE found, by schema, table and column; of a partitioned table that of all its partitions."""
        found = sorted(self.snapshot.columns, key=lambda one: one.inherited, reverse=True)
        return {(one.schema, one.table, one.column): one for one in found}

    # Sessions

    @cached_property
    def clients(self) -> tuple[SessionState, ...]:
        """Sessions of clients, without those of this program. Hidden ones have no state."""
        return tuple(
            session
            for session in self.snapshot.sessions
            if session.backend_type in ("client backend", None)
            and not (session.application or "").startswith(OWN_APPLICATION)
        )

    def session(self, pid: int | None) -> SessionState | None:
        return next((session for session in self.snapshot.sessions if session.pid == pid), None)

    # Statements

    @cached_property
    def texts(self) -> Mapping[int, str]:
        return {text.query_id: text.text for text in self.snapshot.statement_texts}

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of this database since statistics were reset, the ones with the most time first."""
        return tuple(
            Statement(query_id=statement.query_id, text=self.texts.get(statement.query_id, ""), counters=statement)
            for statement in self.snapshot.counters.statements
        )

    @cached_property
    def statement_times(self) -> Mapping[int, ObservedTime]:
        """By statement: of the observation, or without one since statistics were reset."""
        now, before = self.snapshot.counters.statements, self.snapshot.counters_before
        if before is None:
            return times_since_reset(now)
        ended_epoch_s = self.snapshot.server.clock_epoch_s + self.observed_s
        times = observed_times(
            now,
            before.statements,
            observed_s=self.observed_s,
            ended_epoch_s=ended_epoch_s,
            reset_epoch_s=ended_epoch_s - self.observed_s - self.statements_s,
        )
        return observed_longer(times, self.observed_s, self.meanwhile)

    @cached_property
    def statement_ms(self) -> Mapping[int, float]:
        return {query_id: one.ms for query_id, one in self.statement_times.items()}

    @cached_property
    def all_statements_ms(self) -> float:
        """The time of what clients sent: a statement inside a function is part of the one that calls it."""
        sent = {statement.query_id for statement in self.snapshot.counters.statements if statement.is_top_level}
        return sum(ms for query_id, ms in self.statement_ms.items() if query_id in sent)

    def statement_share(self, query_id: int) -> float:
        """Of the time of all statements, 0 to 1."""
        whole = self.all_statements_ms
        return min(self.statement_ms.get(query_id, 0.0) / whole, 1.0) if whole else 0.0

    @cached_property
    def plans(self) -> Mapping[int, QueryPlan]:
        """By query id: the one that the log has, which ran, before one that EXPLAIN made for any parameters."""
        found = {plan.query_id: plan for plan in self.snapshot.plans if plan.query_id is not None}
        logged = self.log.plans if self.log is not None else ()
        by_text = {normalised(text): query_id for query_id, text in self.texts.items()} if logged else {}
        for plan in reversed(logged):
            query_id = plan.query_id if plan.query_id in self.texts else by_text.get(normalised(plan.statement or ""))
            if query_id is not None:
                found[query_id] = plan
        return found

    def statements_on(self, table: Table) -> Iterator[Statement]:
        """The statements whose text has the table's name as a word; a hint, as texts are not resolved."""
        name = table.state.name.lower()
        for statement in self.statements:
            if name in words_of(statement.text):
                yield statement

    # Counters

    @property
    def database(self) -> DatabaseCounters | None:
        """Of the database that was looked at."""
        return _named(self.snapshot.counters, self.snapshot.server.database)

    @property
    def database_before(self) -> DatabaseCounters | None:
        before = self.snapshot.counters_before
        return _named(before, self.snapshot.server.database) if before is not None else None

    @property
    def observed_s(self) -> float:
        """How long counters were watched; 0 without an observation."""
        before = self.snapshot.counters_before
        return max(self.snapshot.counters.at_epoch_s - before.at_epoch_s, 0.0) if before is not None else 0.0

    def since_s(self, reset_epoch_s: float | None) -> float:
        """Seconds that counters cover: since their reset, or since this server counts at all; at least 1.

        They survive a clean restart, so the server's start is not where they begin.
        """
        return max(self.snapshot.server.clock_epoch_s - (reset_epoch_s or self._counts_since_epoch_s), 1.0)

    @property
    def database_s(self) -> float:
        """Seconds that the counters of this database, its tables and functions cover."""
        return self.since_s(self.database.reset_epoch_s if self.database is not None else None)

    @property
    def statements_s(self) -> float:
        """Seconds that the counters of statements cover."""
        return self.since_s(next((info.reset_epoch_s for info in self.snapshot.counters.statements_info), None))

    @property
    def _counts_since_epoch_s(self) -> float:
        """Counters of the whole server have a time of reset from the day on which the server was made."""
        counters, started = self.snapshot.counters, self.snapshot.server.started_epoch_s
        resets = [checkpoint.reset_epoch_s for checkpoint in counters.checkpoints]
        resets += [writer.reset_epoch_s for writer in counters.writer]
        resets += [wal.reset_epoch_s for wal in counters.wal]
        return min([started, *(reset for reset in resets if reset is not None)])

    # Samples

    @cached_property
    def activity(self) -> tuple[Sample, ...]:
        return self.snapshot.samples.of("activity")

    def sessions_where(self, view: str = "activity", **columns: str) -> float:
        """How many sessions at a time, on average over the samples, had these values: ``wait_event="WALWrite"``."""
        taken = self.snapshot.samples.of(view)
        fitting = sum(
            _backends(row)
            for sample in taken
            for row in sample.rows
            if all(row.get(k) == v for k, v in columns.items())
        )
        return fitting / len(taken) if taken else 0.0

    @cached_property
    def active_rows(self) -> tuple[Row, ...]:
        """All samples of sessions that work for a client: active ones and their parallel workers."""
        return tuple(
            row
            for sample in self.activity
            for row in sample.rows
            if row.get("backend_type") in _WORKING and row.get("state") == "active"
        )

    @property
    def active_sessions(self) -> float | None:
        """On average over the samples; None without a sample."""
        if not self.activity:
            return None
        return sum(_backends(row) for row in self.active_rows) / len(self.activity)


def words_of(text: str) -> frozenset[str]:
    """Identifiers and keywords of a statement in lower case, quotes taken off."""
    kept = "".join(c if c.isalnum() or c in "_$" else " " for c in text.lower())
    return frozenset(kept.split())


def _named(counters: Counters, database: str) -> DatabaseCounters | None:
    return next((one for one in counters.databases if one.name == database), None)


def _backends(row: Row) -> float:
    value = row.get("backends", 1)
    return float(value) if isinstance(value, int | float) else 0.0


def _grown(now: float | None, before: float | None) -> float:
    """A reset in between makes a counter start anew."""
    if now is None or before is None:
        return 0.0
    return float(now - before) if now >= before else float(now)
