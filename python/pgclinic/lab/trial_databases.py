"""Databases of trials on servers that are not ours: recorded before they are created, dropped at the end, found again.

A record lies in the lab home until its database is gone, so that the next command for that server can drop what a
killed one left. A database is dropped only when it is recorded here, has a name of ours, carries our remark (or none
yet, and the owner that we had), and no living command uses it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

import msgspec

from pgclinic.errors import PgclinicError, UsageError
from pgclinic.lab.home import folder, lab_home
from pgclinic.lab.reaper import boot_id, is_running, process_start
from pgclinic.lab.uninterrupted import uninterrupted
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.pg.query_files import query
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, QueryError, Session

REMARK = "made by pgclinic for one trial, and dropped at its end"
_TIMEOUT_MS = 120_000
_OBJECT_IN_USE = "55006"


class DatabaseState(str, Enum):
    """What a database of a trial is to this lab home."""

    IN_USE = "in use"
    LEFT_OVER = "left over"
    NOT_OURS = "not recorded here"


class TrialDatabase(Record):
    """A record: which database is made on which server, by which process. ``ended`` says that its trial is over.

    ``system_identifier`` is None where this user may not ask for it. ``owner_start`` is in clock ticks after boot.
    """

    name: str
    host: str
    port: int
    user: str
    system_identifier: str | None
    machine: str
    boot: str
    owner_pid: int
    owner_start: int
    created_epoch_s: float
    ended: bool = False

    def is_used(self) -> bool:
        """Whether a command may still use it; of another machine's commands nothing is known here."""
        if self.ended:
            return False
        if self.boot != boot_id():
            return self.machine != os.uname().nodename
        return is_running(self.owner_pid, self.owner_start)


class FoundDatabase(Record):
    """A database with a name of ours that is on a server now. ``bytes`` is None where this user may not know it."""

    name: str
    owner: str
    state: DatabaseState
    sessions: int
    bytes: int | None
    created_epoch_s: float | None


def recorded() -> tuple[TrialDatabase, ...]:
    """All records of this lab home, the oldest first; one that cannot be read is left alone."""
    if not (lab_home() / "databases").is_dir():
        return ()
    found = []
    for path in folder("databases").glob("*.json"):
        with suppress(OSError, msgspec.MsgspecError):
            found.append(decoded_json(path.read_bytes(), TrialDatabase))
    return tuple(sorted(found, key=lambda one: one.created_epoch_s))


def found_databases(access: Access) -> tuple[FoundDatabase, ...]:
    """The databases of trials on this server. Raises what a session raises."""
    with _session(access) as session:
        return tuple(found for found, _ in _found(session, access))


def drop_leftovers(access: Access) -> tuple[str, ...]:
    """Drop what commands that are gone left on this server, and forget what is gone by itself; names of the dropped.

    Touches the server only where something is recorded for it. What cannot be dropped now stays recorded.
    """
    if not any(not record.is_used() for record in recorded()):
        return ()
    dropped = []
    with _session(access) as session:
        there = {found.name: (found, record) for found, record in _found(session, access)}
        for found, record in there.values():
            if record is not None and found.state is DatabaseState.LEFT_OVER and _drop(session, access, record):
                dropped.append(found.name)
        for record in _records_of(session, access):
            if record.name not in there and not record.is_used() and not _in_creation(session, access, record):
                _forget(record)
    return tuple(dropped)


@contextmanager
def trial_database(access: Access) -> Iterator[Access]:
    """A new database on this server for the time of the ``with``. Nothing else there is touched.

    Raises QueryError when it cannot be created. One that cannot be dropped stays recorded, for the next command.
    """
    drop_leftovers(access)
    with _session(access) as session:
        record = _record(session, access)
        try:
            session.execute(f"create database {record.name}")
            session.execute(f"comment on database {record.name} is '{REMARK}'")
        except BaseException:
            _end(access, record)
            raise
    try:
        yield in_database(access, record.name)
    finally:
        _end(access, record)


def refuse_without_createdb(access: Access) -> None:
    """Raise UsageError where a trial could not have a database of its own."""
    with _session(access) as session:
        may, standby = session.row(query("may_create_database", access.major))
    server = access.server
    hint = "--existing runs on the tables of an existing database and creates nothing"
    if standby:
        raise UsageError(
            f"{server.host}:{server.port} is a standby: no database for the trials can be made there", hint=hint
        )
    if not may:
        raise UsageError(
            f"{server.user} may not create databases on {server.host}:{server.port}, and each trial has one of its own",
            hint=f"alter role {server.user} createdb; or {hint}",
        )


def _record(session: Session, access: Access) -> TrialDatabase:
    record = TrialDatabase(
        name=f"pgclinic_{secrets.token_hex(6)}",
        host=access.server.host,
        port=access.server.port,
        user=access.server.user,
        system_identifier=_system_identifier(session, access),
        machine=os.uname().nodename,
        boot=boot_id(),
        owner_pid=os.getpid(),
        owner_start=process_start(os.getpid()) or 0,
        created_epoch_s=time.time(),
    )
    _save(record)
    return record


def _end(access: Access, record: TrialDatabase) -> None:
    """Drop it now, or note that it may be dropped later: what the trial gave is worth having all the same.

    A signal that comes meanwhile is answered afterwards.
    """
    try:
        with uninterrupted(), _session(access) as session:
            if _drop(session, access, record):
                return
    except PgclinicError:
        # The server is gone, or does not let us in any more.
        pass
    # Without a place to note it the record stays as it is, and counts once this process is gone.
    with suppress(UsageError):
        _save(msgspec.structs.replace(record, ended=True))


def _drop(session: Session, access: Access, record: TrialDatabase) -> bool:
    """Drop it and forget it; False where the server refuses."""
    try:
        try:
            session.execute(f"drop database if exists {record.name}")
        except QueryError as error:
            if error.sqlstate != _OBJECT_IN_USE:
                raise
            # The server has waited for some seconds; backends of a killed client may work for hours.
            session.rows(query("end_sessions_of_database", access.major), {"name": record.name})
            session.execute(f"drop database if exists {record.name}")
    except QueryError:
        return False
    _forget(record)
    return True


def _found(session: Session, access: Access) -> list[tuple[FoundDatabase, TrialDatabase | None]]:
    records = {record.name: record for record in _records_of(session, access)}
    found = []
    for name, owner, remark, sessions, size in session.rows(query("trial_databases", access.major)):
        record = records.get(name)
        if record is None or not (remark == REMARK or (remark is None and owner == record.user)):
            record, state = None, DatabaseState.NOT_OURS
        else:
            state = DatabaseState.IN_USE if record.is_used() else DatabaseState.LEFT_OVER
        found.append(
            (
                FoundDatabase(
                    name=name,
                    owner=owner,
                    state=state,
                    sessions=sessions,
                    bytes=size,
                    created_epoch_s=record.created_epoch_s if record is not None else None,
                ),
                record,
            )
        )
    return found


def _records_of(session: Session, access: Access) -> list[TrialDatabase]:
    """The databases for this server: by what initdb gave it, else by its address."""
    identifier, server = _system_identifier(session, access), access.server

    def is_here(record: TrialDatabase) -> bool:
        if identifier is not None and record.system_identifier is not None:
            return identifier == record.system_identifier
        return (record.host, record.port) == (server.host, server.port)

    return [record for record in recorded() if is_here(record)]


def _in_creation(session: Session, access: Access, record: TrialDatabase) -> bool:
    (there,) = session.row(query("database_in_creation", access.major), {"name": record.name})
    return bool(there)


def _system_identifier(session: Session, access: Access) -> str | None:
    try:
        (identifier,) = session.row(query("system_identifier", access.major))
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return None
    return str(identifier)


def _session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-fill")


def _path(record: TrialDatabase) -> Path:
    return folder("databases") / f"{record.name}.json"


def _save(record: TrialDatabase) -> None:
    """Durably: the record must outlive whatever ends this process or this machine."""
    path = _path(record)
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("wb") as out:
            out.write(msgspec.json.encode(record))
            out.flush()
            os.fsync(out.fileno())
        temporary.rename(path)
        _sync(path.parent)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written, and no database is created without it: {error.strerror}"
        ) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _forget(record: TrialDatabase) -> None:
    _path(record).unlink(missing_ok=True)
