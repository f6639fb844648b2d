"""Figures of findings with their units: every screen, page and file has them from here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, SubjectKind, Unit
from pgclinic.report.sections.horizon.text import duration_words
from pgclinic.report.words.figures import number, percent, ratio, size, times

_DAY_S = 86_400.0
#: Names of units that are said unless the fact's own name ends with them.
_NOUNS = {Unit.ROWS: "row", Unit.BUFFERS: "buffer", Unit.TRANSACTIONS: "transaction", Unit.DAYS: "day"}


def fact_words(fact: Fact) -> str:
    """dead rows 29,900,000; state idle in transaction; in this state for 2.2 h."""
    return f"{fact.name} {value_words(fact)}"


def value_words(fact: Fact) -> str:
    """The value of a fact with its unit."""
    value, unit = fact.value, fact.unit
    if isinstance(value, str):
        return " ".join(value.split())
    if unit is Unit.RATIO and fact.name.endswith(" by"):
        return times(value)
    if unit in _NOUNS:
        return _counted(value, _NOUNS[unit], fact.name)
    return _UNITS[unit](value)


def utc_words(epoch_s: float) -> str:
    """2026-11-25 17:05 UTC: a moment that reads the same everywhere."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(epoch_s))


def time_words(seconds: float) -> str:
    """450 ms, 42.1 s, 2.2 h, 3 days: the unit that leaves a figure one can read."""
    if seconds < 2 * _DAY_S:
        return duration_words(seconds)
    return f"{plain(seconds / _DAY_S)} days"


def plain(value: float) -> str:
    """A figure in the digits that it is worth; a whole one without a point."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return number(value).removesuffix(".0")


def milliseconds_words(value: float) -> str:
    """20 µs, 4.1 ms, 1.3 s."""
    return f"{plain(value * 1000)} µs" if 0 < value < 1 else time_words(value / 1000)


def _counted(value: float, noun: str, name: str) -> str:
    if name.endswith((noun, f"{noun}s")):
        return plain(value)
    return f"{plain(value)} {noun}" if value == 1 else f"{plain(value)} {noun}s"


_UNITS: Mapping[Unit, Callable[[float], str]] = {
    Unit.TEXT: plain,
    Unit.COUNT: plain,
    Unit.SHARE: percent,
    Unit.RATIO: ratio,
    Unit.BYTES: size,
    Unit.BYTES_PER_S: lambda value: f"{size(value)}/s",
    Unit.PER_S: lambda value: f"{plain(value)} per second",
    Unit.SECONDS: time_words,
    Unit.MILLISECONDS: milliseconds_words,
}

_COSTS: Mapping[CostKind, Callable[[float], str]] = {
    CostKind.TIME_SHARE: lambda value: f"{percent(value)} of the time of all statements",
    CostKind.WAIT_S_PER_S: lambda value: f"{plain(value)} s of waiting per second",
    CostKind.SPACE_BYTES: lambda value: f"{size(value)} on disk",
    CostKind.MEMORY_BYTES: lambda value: f"{size(value)} of memory",
    CostKind.WAL_BYTES_PER_S: lambda value: f"{size(value)} of WAL per second",
    CostKind.IO_BYTES_PER_S: lambda value: f"{size(value)} of I/O per second",
    CostKind.DAYS_LEFT: lambda value: f"{_counted(value, 'day', '')} until it stops",
    CostKind.SECONDS_LEFT: lambda value: f"throughput halves in about {time_words(value)}",
    CostKind.BUFFERS_PER_LOOKUP: lambda value: f"a lookup visits {_counted(value, 'buffer', '')}",
    CostKind.FAILURES_PER_S: lambda value: f"{plain(value)} failures per second",
    CostKind.COMMITS_LOST_S: lambda value: f"a crash loses the commits of {time_words(value)}",
    CostKind.CPU_SHARE: lambda value: f"{percent(value)} of all CPU",
}


def cost_words(cost: Cost) -> str:
    """3.2 GB on disk; a lookup visits 412 buffers."""
    return _COSTS[cost.kind](cost.value)


def evidence_name(evidence: Evidence) -> str:
    """table public.counters; session 4711 (report); setting work_mem; the text of a statement."""
    name = " ".join(evidence.name.split())
    if evidence.kind is SubjectKind.STATEMENT or name.startswith(evidence.kind.value):
        return name
    return f"{evidence.kind.value} {name}"


def place_words(evidence: Evidence) -> str | None:
    """Where a setting is set: postgresql.conf:12; the identifier of a statement."""
    if evidence.file is not None:
        return evidence.file if evidence.line is None else f"{evidence.file}:{evidence.line}"
    if evidence.query_id is not None:
        return f"query_id {evidence.query_id}"
    return None


def evidence_words(evidence: Evidence) -> str:
    """One evidence in a line: its name, then its facts."""
    facts = [fact_words(fact) for fact in evidence.facts]
    place = place_words(evidence)
    parts = facts if place is None else [*facts, place]
    name = evidence_name(evidence)
    return f"{name}: {', '.join(parts)}" if parts else name
