"""What is known before any statement runs: settings, extensions, objects and statements that the target refuses.

The schema is made without rows on a server of either version, which takes seconds, so the servers say it themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.instance import start_server
from pgclinic.model.twin import ObjectKind, Twin, TwinStatement, TwinWorkload
from pgclinic.model.upgrade import (
    CollationChange,
    ExtensionChange,
    LockRoom,
    Preflight,
    RefusedBySide,
    RefusedStatement,
)
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.settings.release_changes import setting_changes
from pgclinic.sql.captured_statement import extension_of, refused
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.build import LeftOut, build_twin

_TIMEOUT_MS = 60_000
#: The provider of the collation that stands for the database's own, and locales whose order never changes.
_DEFAULT_PROVIDER = "d"
_UNVERSIONED = ("C", "POSIX", "C.UTF-8", "C.utf8", "")
#: Settings of the lock table with their defaults, and the default of max_connections.
_LOCKS = {"max_locks_per_transaction": 64, "max_prepared_transactions": 0}
CONNECTIONS = 100
#: The data are thrown away.
_SCRATCH = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


@dataclass(frozen=True)
class SortedBy:
    """A collation that indexes depend on; ``version`` is what the server's library calls it, None of C and the like."""

    name: str
    provider: str
    version: str | None
    indexes: int


@dataclass(frozen=True)
class SchemaSeen:
    """What one version says of a schema: objects that it does not make, statements that it does not parse (by query
    id, with its message), the extensions that it brings with their versions, and the collations of its indexes."""

    left_out: tuple[LeftOut, ...]
    unparsed: Mapping[int, str]
    extensions: Mapping[str, str]
    collations: tuple[SortedBy, ...] = ()


def preflight(twin: Twin, before: Binaries, after: Binaries) -> Preflight:
    """Compare both versions without a row of data. Raises RunFailedError, QueryError."""
    began_s = time.monotonic()
    old, new = schema_seen(twin, before), schema_seen(twin, after)
    return replace(
        compared(twin, old, new),
        settings=setting_changes(settings_catalog(before), settings_catalog(after), twin.settings),
        elapsed_s=time.monotonic() - began_s,
    )


def schema_seen(twin: Twin, binaries: Binaries) -> SchemaSeen:
    """Make the schema without rows and parse the statements of the workload. Raises RunFailedError, QueryError."""
    with start_server(binaries, settings=_SCRATCH) as running:
        access = Access(running.server, author=AUTHOR)
        built = build_twin(access, without_rows(twin))
        with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-upgrade") as session:
            rows = session.rows(query("available_extensions", access.major))
            sorted_by = session.records(query("index_collations", access.major))
        with Session(
            access.of_author,
            statement_timeout_ms=_TIMEOUT_MS,
            application_name="pgclinic-upgrade",
            users_search_path=True,
        ) as session:
            faults = {one.query_id: session.parse(one.text) for one in _parsed(twin)}
    return SchemaSeen(
        left_out=built.left_out,
        unparsed={key: fault.message for key, fault in faults.items() if fault is not None},
        extensions={str(name): str(version) for name, version in rows},
        collations=tuple(SortedBy(**one) for one in sorted_by),
    )


def without_rows(twin: Twin) -> Twin:
    """The same schema, empty."""
    tables = tuple(
        replace(table, rows=0.0, pages=0, pages_now=0, all_visible=0, dead_rows=0, joint=()) for table in twin.tables
    )
    return replace(twin, tables=tables, workload=TwinWorkload())


def _parsed(twin: Twin) -> Iterator[TwinStatement]:
    return (one for one in twin.workload.statements if StatementKind(one.kind).has_plan)


def compared(twin: Twin, old: SchemaSeen, new: SchemaSeen) -> Preflight:
    """What the new version refuses of that which the old one takes. Pure."""
    lacking = {one.name for one in old.left_out}
    whole_ms = sum(one.total_ms for one in twin.workload.statements) or 1.0
    return Preflight(
        extensions=tuple(_extensions(twin, old, new)),
        objects=tuple(_refused(one) for one in new.left_out if one.name not in lacking and _is_own(one)),
        statements=tuple(
            RefusedStatement(
                query_id=one.query_id,
                text=one.text,
                time_share=one.total_ms / whole_ms,
                reason=new.unparsed[one.query_id],
            )
            for one in sorted(_parsed(twin), key=lambda one: -one.total_ms)
            if one.query_id in new.unparsed and one.query_id not in old.unparsed
        ),
        skipped=tuple(_refused(one) for one in old.left_out if _is_own(one)),
        collations=tuple(_collations(twin, old, new)),
        locks=lock_room(twin),
    )


def _collations(twin: Twin, old: SchemaSeen, new: SchemaSeen) -> Iterator[CollationChange]:
    """Those whose version differs between the libraries of both releases; the database's own is that of a machine."""
    after = {one.name: one.version for one in new.collations}
    for one in old.collations:
        if one.provider == _DEFAULT_PROVIDER:
            if twin.collate not in _UNVERSIONED:
                yield CollationChange(name=twin.collate, indexes=one.indexes)
        elif one.version is not None and after.get(one.name) not in (None, one.version):
            yield CollationChange(name=one.name, indexes=one.indexes, before=one.version, after=after[one.name])


def lock_room(twin: Twin) -> LockRoom | None:
    """None where the lock table has room for all tables. Pure; a twin does not record max_connections."""
    tables = len(twin.tables)
    locks, prepared = (_whole(twin.settings.get(name), default) for name, default in _LOCKS.items())
    sessions = CONNECTIONS + prepared
    if tables <= locks * sessions:
        return None
    return LockRoom(
        tables=tables,
        room=locks * sessions,
        max_locks_per_transaction=locks,
        sessions=sessions,
        enough=math.ceil(tables / sessions),
    )


def _whole(value: str | None, default: int) -> int:
    """A setting as a number; a file may hold anything."""
    return int(value) if value is not None and value.isascii() and value.isdigit() else default


def _is_own(one: LeftOut) -> bool:
    """Extensions are reported by themselves."""
    return one.kind != ObjectKind.EXTENSION.value


def _refused(one: LeftOut) -> RefusedBySide:
    reason = one.reason or " ".join(part for part in (one.refusal.value if one.refusal else "", one.detail) if part)
    return RefusedBySide(kind=one.kind, name=one.name, reason=reason)


def _extensions(twin: Twin, old: SchemaSeen, new: SchemaSeen) -> Iterator[ExtensionChange]:
    """Those of the original that the target lacks or brings in another version."""
    for name in sorted(_extension_names(twin)):
        before, after = old.extensions.get(name), new.extensions.get(name)
        if after is None or before != after:
            yield ExtensionChange(name=name, before=before, after=after)


def _extension_names(twin: Twin) -> Iterator[str]:
    for made in twin.objects:
        if made.kind is not ObjectKind.EXTENSION:
            continue
        # What no server of the lab is given, as it reads files or connects elsewhere, is an extension all the same.
        yield (
            made.name.removeprefix("extension ").strip('"')
            if refused(made.kind, made.statement)
            else extension_of(made.statement)[0]
        )
