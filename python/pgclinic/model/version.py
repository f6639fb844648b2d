"""PostgreSQL's version numbers, in all the ways they are written."""

from __future__ import annotations

import re

from pgclinic.errors import UsageError
from pgclinic.model.record import Record

_NUMBER = re.compile(
    r"(?P<head>\d+)(?:\.(?P<second>\d+))?(?:\.(?P<third>\d+))?(?:-\d+)?(?P<stage>devel|(?:alpha|beta|rc)\d+)?"
)
OLDEST_SUPPORTED = 90600
#: The newest branch; what is asked of no server in particular is as there.
NEWEST_MAJOR = 18


class Version(Record, order=True):
    """A release, such as 18.6 or 9.6.24. ``branch`` is 18 or 9.6; ``minor`` is None when only the branch is meant.

    ``stage`` is ``beta1``, ``rc1`` or ``devel`` for what is not yet a release.
    """

    family: int
    minor: int | None = None
    stage: str = ""

    @property
    def branch(self) -> str:
        """``18``, or ``9.6`` for the branches before 10."""
        return (
            str(self.family // 10000) if self.family >= 100000 else f"{self.family // 10000}.{self.family // 100 % 100}"
        )

    @property
    def major(self) -> int:
        """18 for 18.6, 9 for 9.6.24."""
        return self.family // 10000

    @property
    def number(self) -> int:
        """As server_version_num: 180006, 90624. A bare branch counts as its first release."""
        return self.family + (self.minor or 0)

    def __str__(self) -> str:
        if self.stage:
            return f"{self.branch}{self.stage}"
        return self.branch if self.minor is None else f"{self.branch}.{self.minor}"


def version_of_number(number: int) -> Version:
    """Version of a server_version_num: 180006 -> 18.6, 90624 -> 9.6.24."""
    if number >= 100000:
        return Version(family=number // 10000 * 10000, minor=number % 10000)
    return Version(family=number // 100 * 100, minor=number % 100)


def parse_version(text: str) -> Version:
    """Read ``13``, ``13.3``, ``9.6.24``, ``17rc1`` or a banner such as ``postgres (PostgreSQL) 13.23``.

    Raises UsageError for anything else.
    """
    words = [word for word in text.replace(")", " ").split() if word[:1].isdigit()]
    match = _NUMBER.fullmatch(words[0]) if words else None
    if match is None:
        raise UsageError(f"{text!r} is not a PostgreSQL version", hint="write it as 18, 18.6 or 9.6.24")
    head, second, third = (int(match[part]) if match[part] else None for part in ("head", "second", "third"))
    stage = match["stage"] or ""
    assert head is not None
    if head >= 10:
        return Version(family=head * 10000, minor=second, stage=stage)
    if second is None:
        raise UsageError(
            f"PostgreSQL {text} needs its minor version", hint="before 10 a major version has two numbers, such as 9.6"
        )
    return Version(family=head * 10000 + second * 100, minor=third, stage=stage)
