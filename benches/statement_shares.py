"""What statements with given texts take of the server's time, and what of that a healthy server does not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgclinic.pg.session import Session

_COUNTED = """
select query, sum(calls)::float8, sum(total_exec_time) from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database()) group by query
"""
#: What this program and its bench send themselves.
_OWN = ("pg_catalog", "pg_stat_statements")


@dataclass(frozen=True)
class Calls:
    """Of one statement; ``ms`` are those of all its calls on the server."""

    calls: float
    ms: float

    @property
    def ms_per_call(self) -> float:
        return self.ms / self.calls


def counted(session: Session) -> dict[str, Calls]:
    """By text, in lower case with single spaces: all that the server has counted of this database."""
    found: dict[str, Calls] = {}
    for text, calls, ms in session.rows(_COUNTED):
        if not any(own in text for own in _OWN):
            key = " ".join(text.lower().split())
            known = found.get(key, Calls(0.0, 0.0))
            found[key] = Calls(known.calls + calls, known.ms + ms)
    return found


def grown(before: Mapping[str, Calls], after: Mapping[str, Calls]) -> dict[str, Calls]:
    """What was added; statements that did not run in between are left out."""
    since = {text: (one, before.get(text, Calls(0.0, 0.0))) for text, one in after.items()}
    return {
        text: Calls(one.calls - known.calls, one.ms - known.ms)
        for text, (one, known) in since.items()
        if one.calls > known.calls
    }


def share_of(seen: Mapping[str, Calls], parts: Sequence[str]) -> float:
    """The part of the time of all statements that those have whose texts have one of these parts, 0 to 1."""
    whole = sum(one.ms for one in seen.values())
    return sum(one.ms for one in _fitting(seen, parts).values()) / whole if whole else 0.0


def lost_share_of(sick: Mapping[str, Calls], healthy: Mapping[str, Calls], parts: Sequence[str]) -> float:
    """The part of the time of all statements by which the calls of these take longer than on the healthy server.

    One that did not run there loses nothing.
    """
    whole = sum(one.ms for one in sick.values())
    lost = sum(
        one.ms - one.calls * healthy[text].ms_per_call for text, one in _fitting(sick, parts).items() if text in healthy
    )
    return max(0.0, lost / whole) if whole else 0.0


def _fitting(seen: Mapping[str, Calls], parts: Sequence[str]) -> dict[str, Calls]:
    return {text: one for text, one in seen.items() if any(part in text for part in parts)}
