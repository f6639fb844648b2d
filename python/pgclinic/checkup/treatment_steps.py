"""Statements of a treatment that are safe to run later: each is for what the checkup saw, and for nothing else.

A pid may be another session's by then, and a name another table's. So a statement on a session compares when the
session and its transaction began, one on a table or an index its oid, one on a slot how much it keeps; a setting must
have the value that was found. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pgclinic.checkup.treat import statements_of
from pgclinic.model.finding import Treatment
from pgclinic.model.snapshot import SessionState, Snapshot
from pgclinic.sql.quoting import literal, qualified

#: A transaction that is open for so long is one that CREATE INDEX CONCURRENTLY may wait for without an end.
LONG_TRANSACTION_S = 60.0
#: What the ages of a snapshot without moments may be off by.
_AGE_ERROR_S = 5.0
_NAME = r'(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_$]*)'
_QUALIFIED = re.compile(rf"{_NAME}\.{_NAME}")
_ONE_SESSION = re.compile(r"select pg_(terminate|cancel)_backend\((\d+)\)")
_IDLE_SESSIONS = re.compile(
    r"select pg_terminate_backend\(pid\) from pg_stat_activity where pid in \(([\d, ]+)\) and state = 'idle'"
)
_SLOT = re.compile(r"select pg_drop_replication_slot\('((?:[^']|'')+)'\)")
_PREPARED = re.compile(r"rollback prepared '((?:[^']|'')+)'")
_SETTING = re.compile(r"alter system (?:set|reset) ([\w.]+)")
_CREATE_INDEX = re.compile(r"(create (?:unique )?index (?:concurrently )?)(?!if not exists)", re.IGNORECASE)
_CREATED = re.compile(rf"create (?:unique )?index (?:concurrently )?({_NAME}) on (?:only )?({_NAME})\.", re.IGNORECASE)
_DROP_INDEX = re.compile(r"(drop index (?:concurrently )?)(?!if exists)", re.IGNORECASE)
_CONCURRENT = re.compile(r"(?:create (?:unique )?index|drop index|reindex \w+) concurrently ", re.IGNORECASE)
#: What is done before what: who holds locks and snapshots goes first, as all below wait for him or are in vain.
_ORDER = (
    re.compile(r"select pg_(terminate|cancel)_backend|rollback prepared"),
    re.compile(r"select pg_drop_replication_slot|alter subscription"),
    re.compile(r"alter (system|role|database)|select pg_reload_conf"),
    re.compile(r"drop index", re.IGNORECASE),
    re.compile(r"create (unique )?index|create (statistics|extension)", re.IGNORECASE),
    re.compile(r"alter |reindex ", re.IGNORECASE),
    re.compile(r"vacuum|analyze|cluster", re.IGNORECASE),
)


@dataclass(frozen=True)
class TreatmentStep:
    """One statement. ``check`` is a condition in SQL under which it is for what the checkup saw, None for always.

    ``else_words`` say what is otherwise. Without a ``statement`` it cannot be made safe, and ``else_words`` say why.
    ``waits`` marks one that waits for every transaction of its database that is open.
    """

    statement: str | None
    check: str | None = None
    else_words: str = ""
    waits: bool = False


def safe_steps(snapshot: Snapshot | None, treatment: Treatment) -> tuple[TreatmentStep, ...]:
    """The statements of a treatment, each with its check. Without a snapshot no session can be told from another."""
    return tuple(_step(snapshot, one) for one in statements_of(treatment))


def rank_of(treatment: Treatment) -> int:
    """The place of a treatment among others: what others wait for is first."""
    ranks = [at for one in treatment.sql for at, kind in enumerate(_ORDER) if kind.match(one)]
    return min(ranks, default=2 if treatment.settings else len(_ORDER))


def long_transactions(snapshot: Snapshot) -> tuple[SessionState, ...]:
    """Sessions of the database of the checkup whose transaction had been open for long, the longest first."""
    found = [
        session
        for session in snapshot.sessions
        if session.database == snapshot.server.database and (session.transaction_s or 0.0) >= LONG_TRANSACTION_S
    ]
    return tuple(sorted(found, key=lambda one: -(one.transaction_s or 0.0)))


def blockers_query() -> str:
    """A query for the words of all transactions that a statement of the kind ``waits`` would wait for, null if none."""
    return (
        "select string_agg(format('session %s (%s), transaction open since %s', pid,\n"
        "           coalesce(nullif(application_name, ''), usename), xact_start), '; ')\n"
        "      from pg_stat_activity\n"
        "     where datname = current_database() and pid <> pg_backend_pid()\n"
        f"       and xact_start < clock_timestamp() - interval '{LONG_TRANSACTION_S:.0f} s'"
    )


def _step(snapshot: Snapshot | None, statement: str) -> TreatmentStep:
    if match := _ONE_SESSION.fullmatch(statement):
        return _of_session(snapshot, match[1], int(match[2]))
    if match := _IDLE_SESSIONS.fullmatch(statement):
        return _of_idle_sessions(snapshot, [int(one) for one in match[1].split(",")])
    if snapshot is None:
        return TreatmentStep(_repeatable(statement), waits=_CONCURRENT.match(statement) is not None)
    if match := _SLOT.fullmatch(statement):
        return _of_slot(snapshot, match[1].replace("''", "'"))
    return _of_object(snapshot, statement)


def _of_object(snapshot: Snapshot, statement: str) -> TreatmentStep:
    if match := _PREPARED.fullmatch(statement):
        return _of_prepared(snapshot, statement, match[1].replace("''", "'"))
    if match := _SETTING.match(statement):
        return _of_setting(snapshot, statement, match[1])
    return _of_relations(snapshot, statement)


# Sessions


def _of_session(snapshot: Snapshot | None, verb: str, pid: int) -> TreatmentStep:
    session = _session(snapshot, pid)
    if snapshot is None or session is None or (start := _since(snapshot, session, "backend")) is None:
        return TreatmentStep(
            None, else_words=f"when session {pid} began is not known: see who has this pid before you end it"
        )
    conditions = [f"pid = {pid}", _began("backend_start", start)]
    if session.transaction_s is not None and (open_since := _since(snapshot, session, "transaction")) is not None:
        conditions.append(_began("xact_start", open_since))
    if verb == "cancel":
        query_since = _since(snapshot, session, "query")
        conditions += ["state = 'active'"] if query_since is None else [_began("query_start", query_since)]
    elif (session.state or "").startswith("idle"):
        conditions.append(f"state = {literal(session.state or '')}")
    return TreatmentStep(
        f"select pg_{verb}_backend(pid)\n  from pg_stat_activity\n where " + "\n   and ".join(dict.fromkeys(conditions))
    )


def _of_idle_sessions(snapshot: Snapshot | None, pids: list[int]) -> TreatmentStep:
    rows = []
    for pid in pids:
        session = _session(snapshot, pid)
        if snapshot is not None and session is not None and (start := _since(snapshot, session, "backend")):
            rows.append(f"(pid = {pid} and {_began('backend_start', start)})")
    if not rows:
        return TreatmentStep(None, else_words="when these sessions began is not known: see who has their pids now")
    either = "\n     or ".join(rows)
    return TreatmentStep(
        f"select pg_terminate_backend(pid)\n  from pg_stat_activity\n where state = 'idle'\n   and ({either})"
    )


def _session(snapshot: Snapshot | None, pid: int) -> SessionState | None:
    return (
        next((session for session in snapshot.sessions if session.pid == pid), None) if snapshot is not None else None
    )


def _since(snapshot: Snapshot, session: SessionState, what: str) -> tuple[datetime, datetime] | None:
    """Between when and when it began: one moment, unless the snapshot has its age alone."""
    exact, age = {
        "backend": (session.backend_start_epoch_s, session.connected_s),
        "transaction": (session.transaction_start_epoch_s, session.transaction_s),
        "query": (session.query_start_epoch_s, session.query_s),
    }[what]
    if exact is not None:
        return _moment(exact), _moment(exact)
    return _about(snapshot, age) if age is not None else None


def _about(snapshot: Snapshot, age_s: float) -> tuple[datetime, datetime]:
    moment = _moment(snapshot.server.clock_epoch_s - age_s)
    error = timedelta(seconds=_AGE_ERROR_S + snapshot.took_s)
    return moment - error, moment + error


def _moment(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=round(epoch_s * 1e6))


def _began(column: str, between: tuple[datetime, datetime]) -> str:
    first, last = (f"timestamptz '{one:%Y-%m-%d %H:%M:%S.%f}+00'" for one in between)
    return f"{column} = {first}" if first == last else f"{column} between {first} and {last}"


# What has no oid


def _of_slot(snapshot: Snapshot, name: str) -> TreatmentStep:
    """A slot of the same name that was made since keeps less; one that is in use again is left alone."""
    slot = next((one for one in snapshot.slots if one.name == name), None)
    conditions = [f"slot_name = {literal(name)}", "not active"]
    if slot is not None:
        conditions.append(f"slot_type = {literal(slot.kind)}")
        for column, age in (("xmin", slot.xmin_age), ("catalog_xmin", slot.catalog_xmin_age)):
            if age is not None:
                conditions.append(f"age({column}) >= {age}")
        if slot.wal_kept_bytes is not None:
            now = "case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end"
            conditions.append(f"pg_wal_lsn_diff({now}, restart_lsn) >= {slot.wal_kept_bytes}")
    where = "\n   and ".join(conditions)
    return TreatmentStep(f"select pg_drop_replication_slot(slot_name)\n  from pg_replication_slots\n where {where}")


def _of_prepared(snapshot: Snapshot, statement: str, name: str) -> TreatmentStep:
    found = next((transaction for transaction in snapshot.prepared_transactions if transaction.name == name), None)
    if found is None:
        return TreatmentStep(statement)
    since = _began("prepared", _about(snapshot, found.prepared_s))
    return TreatmentStep(
        statement,
        check=f"exists (select from pg_prepared_xacts where gid = {literal(name)} and {since})",
        else_words=f"prepared transaction {name} is not the one that the checkup saw, or it has ended",
    )


def _of_setting(snapshot: Snapshot, statement: str, name: str) -> TreatmentStep:
    """A setting that a role or a session may have otherwise is not compared: whoever runs the file may be one."""
    found = next((setting for setting in snapshot.settings if setting.name == name), None)
    if found is None or found.value is None or found.context not in ("sighup", "postmaster"):
        return TreatmentStep(statement)
    return TreatmentStep(
        statement,
        check=f"(select setting from pg_settings where name = {literal(name)}) = {literal(found.value)}",
        else_words=f"{name} does not have the value any more that the checkup saw",
    )


# Tables and indexes


def _of_relations(snapshot: Snapshot, statement: str) -> TreatmentStep:
    oids = _oids(snapshot)
    named = dict.fromkeys(name for name in _QUALIFIED.findall(statement) if name in oids)
    is_drop = _DROP_INDEX.match(statement) is not None
    checks = [f"coalesce(to_regclass({literal(name)})::oid = {oids[name]}, {_sql(value=is_drop)})" for name in named]
    made = _CREATED.match(statement)
    if made is not None:
        checks.append(_not_invalid(made[1], made[2]))
    words = f"{' and '.join(named)} is not what the checkup saw" if named else ""
    if made is not None:
        words = f"{words}, or {made[1]} exists and is invalid: drop it first".removeprefix(", or ")
    return TreatmentStep(
        _repeatable(statement),
        check="\n   and ".join(checks) or None,
        else_words=words,
        waits=_CONCURRENT.match(statement) is not None,
    )


def _oids(snapshot: Snapshot) -> Mapping[str, int]:
    tables = {qualified(table.schema, table.name): table.oid for table in snapshot.tables}
    return tables | {qualified(index.schema, index.name): index.oid for index in snapshot.indexes}


def _not_invalid(index: str, schema: str) -> str:
    """What CREATE INDEX CONCURRENTLY left behind when it failed would pass for the index itself."""
    name = literal(f"{schema}.{index}")
    return f"not exists (select from pg_index where indexrelid = to_regclass({name}) and not indisvalid)"


def _repeatable(statement: str) -> str:
    """The same, but no error where it has been run already."""
    return _DROP_INDEX.sub(r"\1if exists ", _CREATE_INDEX.sub(r"\1if not exists ", statement, count=1), count=1)


def _sql(*, value: bool) -> str:
    return "true" if value else "false"
