"""What is known before any statement runs: settings, extensions, objects and statements that the target refuses.

The schema is made without rows on a server of either version, which takes seconds, so the servers say it themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.instance import start_server
from pgclinic.model.twin import ObjectKind, Twin, TwinStatement, TwinWorkload
from pgclinic.model.upgrade import ExtensionChange, Preflight, RefusedBySide, RefusedStatement
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.settings.release_changes import setting_changes
from pgclinic.sql.captured_statement import extension_of, refused
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.build import LeftOut, build_twin

_TIMEOUT_MS = 60_000
#: The data are thrown away.
_SCRATCH = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


@dataclass(frozen=True)
class SchemaSeen:
    """What one version says of a schema: objects that it does not make, statements that it does not parse (by query
    id, with its message), and the extensions that it brings with their versions."""

    left_out: tuple[LeftOut, ...]
    unparsed: Mapping[int, str]
    extensions: Mapping[str, str]


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
    )


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
