"""A snapshot as text for the terminal: what was read, the figures that matter first, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.model.snapshot import Snapshot
from pgclinic.model.twin import Gap
from pgclinic.report.sections.horizon.text import KIND_WORDS, duration_words
from pgclinic.report.words.figures import count, percent, size

#: How a part is called where people read of it.
_PART_WORDS = {
    "counters.statements": "statements",
    "counters.statements_info": "when statistics of statements were reset",
    "statement_texts": "texts of statements",
    "sessions": "sessions of other roles",
    "settings": "settings that need a right, and where each was set",
    "file_settings": "lines of the configuration files that are not in force",
    "columns": "statistics of columns",
    "sequences": "last values of sequences",
    "sizes": "sizes of relations",
    "expressions": "expressions of indexes",
    "sql_functions": "bodies of functions",
    "shared_memory": "parts of shared memory",
    "own_memory": "memory of the own process",
    "wal_files": "files of WAL",
}
_TABLES_SHOWN = 3


def snapshot_text(snapshot: Snapshot) -> str:
    """A few lines on the server, then a line for each gap."""
    server = snapshot.server
    lines = [
        f"snapshot of {server.database}, PostgreSQL {server.version}, in {duration_words(snapshot.took_s)}",
        f"  server     up for {duration_words(server.clock_epoch_s - server.started_epoch_s)}"
        + (", a standby" if server.in_recovery else ""),
        *(f"  {label:<10} {words}" for label, words in snapshot_facts(snapshot)),
    ]
    gaps = [gap for gap in snapshot.gaps if gap.since is None]
    if gaps:
        lines.append("not read")
        lines.extend(f"  {words}" for words in gap_lines(gaps))
    return "\n".join(lines)


def snapshot_facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The figures that matter first, each with its label."""
    changed = [setting for setting in snapshot.settings if setting.source not in ("default", "override", "client")]
    pending = sum(setting.pending_restart for setting in snapshot.settings)
    yield "settings", f"{len(changed)} changed" + (f", {pending} wait for a restart" if pending else "")
    yield "sessions", _session_words(snapshot)
    tables = [table for table in snapshot.tables if table.schema != "pg_catalog"]
    indexes = [index for index in snapshot.indexes if index.schema not in ("pg_catalog", "pg_toast")]
    bytes_now = sum(table.bytes or 0 for table in tables) + sum(index.bytes or 0 for index in indexes)
    yield "tables", f"{len(tables):,} with {len(indexes):,} indexes, {size(bytes_now)}"
    statements = snapshot.counters.statements
    if statements:
        calls = sum(statement.calls for statement in statements)
        yield "statements", f"{len(statements):,}, {count(calls, 'call')}"
    yield from _database_facts(snapshot)
    yield "horizon", _horizon_words(snapshot)


def _session_words(snapshot: Snapshot) -> str:
    clients = [session for session in snapshot.sessions if session.backend_type in ("client backend", None)]
    states = {
        "active": sum(client.state == "active" for client in clients),
        "idle in transaction": sum((client.state or "").startswith("idle in transaction") for client in clients),
        "waiting for a lock": sum(client.wait_event_type == "Lock" for client in clients),
    }
    parts = [f"{amount} {name}" for name, amount in states.items() if amount]
    return ", ".join([count(len(clients), "client"), *parts])


def _database_facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    own = next(
        (database for database in snapshot.counters.databases if database.name == snapshot.server.database), None
    )
    if own is None:
        return
    hits, reads = own.hits or 0, own.reads or 0
    if hits + reads:
        yield "cache", f"{percent(hits / (hits + reads))} of {count(hits + reads, 'page')} found in shared_buffers"
    yield "age", f"oldest row {count(own.xid_age, 'transaction')}, {count(own.multixact_age, 'multixact')}"


def _horizon_words(snapshot: Snapshot) -> str:
    held = [one for one in snapshot.horizon if one.is_here and one.xmin_age is not None]
    if not held:
        return "held by nobody"
    oldest = max(held, key=lambda one: (one.xmin_age or 0, one.held_s or 0))
    since = f" for {duration_words(oldest.held_s)}" if oldest.held_s is not None else ""
    kind = KIND_WORDS.get(oldest.kind, oldest.kind)
    return f"{count(oldest.xmin_age or 0, 'transaction')} behind, held by {oldest.holder} ({kind}){since}"


def gap_lines(gaps: Sequence[Gap]) -> Iterator[str]:
    """Gaps of the same reason on one line, with what closes them below."""
    by_reason: dict[tuple[str, str | None], list[str]] = {}
    for gap in gaps:
        by_reason.setdefault((problem_words(gap), gap.grant), []).append(part_words(gap))
    for (problem, grant), parts in by_reason.items():
        yield f"{', '.join(parts)}: {problem}"
        if grant is not None:
            yield f"  hint: {grant}"


def part_words(gap: Gap) -> str:
    """How the part that is missing is called."""
    return _PART_WORDS.get(gap.what, gap.what.removeprefix("counters.").replace("_", " "))


def problem_words(gap: Gap) -> str:
    """Why it is missing."""
    named = ", ".join(gap.tables[:_TABLES_SHOWN])
    more = f" and {len(gap.tables) - _TABLES_SHOWN} more" if len(gap.tables) > _TABLES_SHOWN else ""
    where = f" of {named}{more}" if named else ""
    match gap.problem:
        case "hidden":
            return f"this role may not see those{where or ' of others'}"
        case "missing":
            return "pg_stat_statements is not in this database, or is of an older version"
        case "locked":
            return f"{named}{more} locked by another session"
        case _:
            return gap.problem
