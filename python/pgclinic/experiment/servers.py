"""Which server the arms of a run get: what was asked for becomes one literal version, installation or address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.binaries import FetchProgress as Fetching
from pgclinic.lab.sources import attach, find_source
from pgclinic.lab.trial_databases import refuse_without_createdb
from pgclinic.model.server import Server, server_words
from pgclinic.model.study import Study
from pgclinic.model.trial import ServerSpec
from pgclinic.pg.dsn import without_password


@dataclass(frozen=True)
class ServerAsked:
    """A server in the user's words: one of the three at most, none is the embedded one. ``dsn`` has its secrets."""

    version: str | None = None
    bindir: Path | None = None
    dsn: str | None = None
    existing: bool = False
    allow_writes: bool = False


@dataclass(frozen=True)
class ChosenServer:
    """A server that is there: its spec, its major version, what to call it, and what trials create on it."""

    spec: ServerSpec
    major: int
    words: str
    creates: str | None = None


def choose_server(
    asked: ServerAsked, *, default_version: str | None = None, on_stage: Callable[[str], None] = lambda _: None
) -> ChosenServer:
    """Turn what was asked for into one literal version, installation or address; fetch its programs if need be.

    ``default_version`` is what a study runs on where the user names nothing.

    Raises UsageError: two of them given, a version that does not exist, a server that cannot be reached, or on which
    this user may not create the databases of trials.
    Raises SourceError: the programs cannot be had.
    """
    given = [name for name, value in _options(asked) if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are mutually exclusive")
    if asked.allow_writes and not asked.existing:
        raise UsageError("--allow-writes needs --existing: other trials write to databases of their own")
    if asked.existing and asked.dsn is None:
        raise UsageError("--existing needs --dsn: it runs on the tables of an existing database")
    if asked.dsn is not None:
        return _attached(asked, asked.dsn)
    version = asked.version or (default_version if asked.bindir is None else None)
    binaries = find_source(version, asked.bindir).ensure(lambda fetching: on_stage(_fetching_in_words(fetching)))
    if asked.bindir is not None:
        words = server_words(binaries.version, str(asked.bindir))
        return ChosenServer(ServerSpec(bindir=str(asked.bindir)), binaries.parsed.major, words)
    words = server_words(binaries.version, binaries.source)
    return ChosenServer(ServerSpec(version=binaries.version), binaries.parsed.major, words)


def choose_again(spec: ServerSpec, dsn: str | None, on_stage: Callable[[str], None]) -> ChosenServer:
    """The server of an earlier run by its spec; ``dsn`` is its whole address where it is an attached one."""
    asked = ServerAsked(
        version=spec.version,
        bindir=Path(spec.bindir) if spec.bindir is not None else None,
        dsn=dsn or spec.dsn,
        existing=spec.existing,
        allow_writes=spec.allow_writes,
    )
    return choose_server(asked, on_stage=on_stage)


def refuse_unknown_versions(study: Study) -> None:
    """Raise UnknownNameError where an arm names a version that does not exist: before any other is downloaded."""
    for arm in study.arms.values():
        if arm.version is not None:
            _ = find_source(arm.version).version


def _options(asked: ServerAsked) -> tuple[tuple[str, object], ...]:
    return ("--version", asked.version), ("--bindir", asked.bindir), ("--dsn", asked.dsn)


def _attached(asked: ServerAsked, dsn: str) -> ChosenServer:
    access = attach(dsn)
    safe = without_password(dsn)
    if asked.existing:
        return _existing(access.server, safe, allow_writes=asked.allow_writes)
    refuse_without_createdb(access)
    server = access.server
    return ChosenServer(
        ServerSpec(dsn=safe),
        server.major,
        server_words(server.version, "attached"),
        creates=f"creates a database pgclinic_... on {server.host}:{server.port} for each trial and drops it again",
    )


def _existing(server: Server, dsn: str, *, allow_writes: bool) -> ChosenServer:
    how = "with writes allowed" if allow_writes else "in read-only transactions"
    return ChosenServer(
        ServerSpec(dsn=dsn, existing=True, allow_writes=allow_writes),
        server.major,
        server_words(server.version, "attached", server.database),
        creates=f"runs on the database {server.database} of {server.host}:{server.port} {how}; creates nothing there",
    )


def _fetching_in_words(fetching: Fetching) -> str:
    done = f"{fetching.done_bytes / 1e6:.0f} MB"
    return f"{fetching.what}: {done}" + (f" of {fetching.total_bytes / 1e6:.0f} MB" if fetching.total_bytes else "")
