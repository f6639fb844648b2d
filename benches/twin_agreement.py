"""What a twin said of its original beside what the original did: direction, size and bounds of each effect. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

#: Smaller effects than this are not counted: their sign is chance.
EFFECT = 0.10
SIZE = 0.25
#: Of all treatments, those whose effect the bounds of the twin are to hold.
INSIDE_SHARE = 0.8


class Bounds(msgspec.Struct, frozen=True):
    """A ratio, treated to as it is, with its 95 % CI or the bounds of what is said; None where there is none."""

    ratio: float
    low: float | None
    high: float | None

    @property
    def is_large(self) -> bool:
        return abs(math.log(self.ratio)) >= -math.log(1 - EFFECT)

    @property
    def text(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.ratio:.2f}x"
        return f"{self.ratio:.2f}x ({self.low:.2f} to {self.high:.2f})"


class Row(msgspec.Struct, frozen=True):
    """One treatment on both sides.

    ``tps`` and ``server_time`` are the original's own, the latter that of statements with ``compared_share`` of its
    time. ``said`` is what the twin says of the original's server time, ``word`` the word of that, ``unlike`` whether it
    is invalid as the twin is not alike enough; ``outside_share`` is the part of the time that it does not reproduce.
    """

    application: str
    treatment: str
    took_s: float = 0.0
    tps: Bounds | None = None
    server_time: Bounds | None = None
    compared_share: float = 0.0
    twin_tps: Bounds | None = None
    word: str = ""
    unlike: bool = False
    said: Bounds | None = None
    outside_share: float | None = None
    failure: str | None = None

    @property
    def is_large(self) -> bool:
        """Whether the original's server time changes by so much that a twin has to say so."""
        return self.server_time is not None and self.server_time.is_large

    @property
    def has_direction(self) -> bool:
        if self.server_time is None or self.said is None:
            return False
        return (self.server_time.ratio < 1) == (self.said.ratio < 1)

    @property
    def has_size(self) -> bool:
        if self.server_time is None or self.said is None:
            return False
        return abs(math.log(self.said.ratio / self.server_time.ratio)) <= math.log(1 + SIZE)

    @property
    def is_inside(self) -> bool:
        """Whether the twin's bounds hold what the original measured; bounds that are open hold nothing."""
        if self.server_time is None or self.said is None or self.said.low is None or self.said.high is None:
            return False
        return self.said.low <= self.server_time.ratio <= self.said.high

    @property
    def is_near(self) -> bool:
        """Whether the twin's bounds and the original's own CI have a value in common."""
        one, other = self.server_time, self.said
        if one is None or other is None or None in (one.low, one.high, other.low, other.high):
            return False
        return other.low <= one.high and one.low <= other.high  # type: ignore[operator]


def table(rows: Sequence[Row]) -> str:
    """In Markdown, one line for each treatment."""
    head = ("application", "treatment", "original, TPS", "its server time", "twin, TPS", "said of the server time")
    columns = (*head, "word", "direction", "size within 25 %", "inside", "seconds")
    lines = [" | ".join(("", *columns, "")).strip(), f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"


def _line(row: Row) -> str:
    if row.failure is not None:
        return f"| {row.application} | {row.treatment} | failed: {row.failure.splitlines()[-1]} |{' |' * 8}"
    direction = ("same" if row.has_direction else "other") if row.is_large else "too small"
    inside = "yes" if row.is_inside else "within the noise" if row.is_near else "no"
    cells = (
        *(row.application, row.treatment),
        *(one.text if one is not None else "-" for one in (row.tps, row.server_time, row.twin_tps, row.said)),
        *(f"{row.word} (unlike)" if row.unlike else row.word, direction, "yes" if row.has_size else "no", inside),
        f"{row.took_s:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def goals(rows: Sequence[Row]) -> str:
    """The three goals in a line each: no answer refused, the right direction, the truth inside the bounds."""
    done = [row for row in rows if row.failure is None]
    large = [row for row in done if row.is_large]
    by_tps = sum(row.tps is not None and row.tps.is_large and not row.is_large for row in done)
    unlike = [row for row in large if row.unlike]
    turned = [row for row in large if not row.has_direction]
    inside, near = sum(row.is_inside for row in done), sum(row.is_inside or row.is_near for row in done)
    lines = [
        f"{len(done)} treatments, {len(large)} change the original's server time by {EFFECT:.0%} or more"
        + (f"; {by_tps} others its TPS alone" if by_tps else ""),
        f"invalid by likeness among these {len(large)}: {len(unlike)} (goal: 0){_named(unlike)}",
        f"direction right among these: {len(large) - len(turned)} of {len(large)} (goal: all){_named(turned)}",
        f"original's server time inside the twin's bounds: {inside} of {len(done)}, {near} with its own noise "
        f"(goal: {math.ceil(INSIDE_SHARE * len(done))})",
    ]
    failed = [row for row in rows if row.failure is not None]
    return "\n".join([*lines, *([f"failed: {len(failed)}{_named(failed)}"] if failed else [])]) + "\n"


def _named(rows: Sequence[Row]) -> str:
    return "".join(f"{', ' if at else ': '}{row.application}, {row.treatment}" for at, row in enumerate(rows))
