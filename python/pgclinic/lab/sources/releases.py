"""The coordinates under which releases are published: ``13.1.0-1`` is the second build of PostgreSQL 13.1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pgclinic.model.record import Record
from pgclinic.model.version import Version, parse_version

_COORDINATE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-(\d+))?")


class Release(Record, order=True):
    """A published build. ``build`` counts the builds of one version; of several the last is meant."""

    version: Version
    build: tuple[int, int]
    coordinate: str

    def fits(self, wish: str) -> bool:
        """Whether a wish (``13``, ``13.3`` or a coordinate) allows this release."""
        if wish == self.coordinate:
            return True
        wished = parse_version(wish)
        if wished.minor is None:
            return wished.family == self.version.family and not wished.stage
        return wished == self.version and _patch(wish) in (0, self.build[0])

    def fits_exactly(self, wish: str) -> bool:
        """Whether no newer release could fit better: the wish is no mere branch."""
        return self.fits(wish) and wish != self.version.branch

    def distance(self, wish: str) -> tuple[int, int]:
        """How far this release is from a wish: by branch, then by minor version; elsewhere the newest is nearest."""
        wished = parse_version(wish)
        minor = self.version.minor or 0
        apart = abs(wished.family - self.version.family)
        return apart, -minor if apart else abs((wished.minor or 0) - minor)


def parse_release(coordinate: str) -> Release:
    """Read a coordinate. Raises ValueError when it is none."""
    match = _COORDINATE.fullmatch(coordinate)
    if match is None:
        raise ValueError(f"{coordinate!r} is not a published version")
    head, second, third, rebuild = (int(part or 0) for part in match.groups())
    if head >= 10:
        version, patch = Version(family=head * 10000, minor=second), third
    else:
        version, patch = Version(family=head * 10000 + second * 100, minor=third), 0
    return Release(version=version, build=(patch, rebuild), coordinate=coordinate)


def choose(wish: str, releases: Iterable[Release]) -> Release | None:
    """The release of exactly that coordinate, else the newest that a wish allows. Raises UsageError."""
    fitting = [release for release in releases if release.fits(wish)]
    exact = [release for release in fitting if release.coordinate == wish]
    return max(exact or fitting, default=None)


def nearest(wish: str, releases: Iterable[Release]) -> Release:
    """The release most likely meant by a wish that none fits; there must be one.

    ``133`` is 13.3 without its point, and ``96`` is 9.6. Otherwise the nearest branch counts, then the nearest minor.
    """
    known = tuple(releases)
    meant = next((text for text in _with_point(wish) if _is_near(text, known)), wish)
    return choose(meant, known) or min(known, key=lambda release: release.distance(meant))


def _with_point(wish: str) -> Iterator[str]:
    """A wish of digits alone, with a point where a version has one."""
    if wish.isdigit() and len(wish) > 2:
        yield f"{wish[:2]}.{wish[2:]}"
    if wish.isdigit() and len(wish) > 1 and wish[0] == "9":
        yield f"9.{wish[1]}" + (f".{wish[2:]}" if wish[2:] else "")


def _is_near(text: str, releases: Iterable[Release]) -> bool:
    """Whether there is a release of that branch, or of that family before 10."""
    wished = parse_version(text)
    return any(
        release.version.family == wished.family or release.version.major == wished.major == 9 for release in releases
    )


def _patch(wish: str) -> int:
    """The third number, which since 10 is no part of PostgreSQL's own version."""
    match = _COORDINATE.fullmatch(wish)
    return int(match[3] or 0) if match and int(match[1]) >= 10 else 0
