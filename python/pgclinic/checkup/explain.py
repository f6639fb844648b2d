"""Causes above the symptoms that they make: a graph over findings, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pgclinic.checkup.pathology import Pathology
from pgclinic.model.finding import Finding, Health, Severity

_HEALTH = {Severity.NOTICE: Health.WATCH, Severity.WARNING: Health.SICK, Severity.CRITICAL: Health.CRITICAL}


def explain(findings: Sequence[Finding], known: Mapping[str, Pathology]) -> tuple[Finding, ...]:
    """The same findings, each with the keys of those that cause it, in the order in which they are shown.

    A finding explains another if its pathology says so and both are of the same table, or one of them is of the whole
    server. Of two that would explain each other the one that comes first in rank is the cause.
    """
    ranked = sorted(findings, key=_rank)
    causes: dict[str, tuple[str, ...]] = {}
    for one in ranked:
        found = [
            other.key
            for other in ranked
            if other.key != one.key
            and one.pathology in known[other.pathology].explains
            and _touch(other, one)
            and not _leads_to(one.key, other.key, causes)
        ]
        causes[one.key] = tuple(found)
    named = [replace(one, explained_by=causes[one.key]) for one in ranked]
    return tuple(sorted(named, key=lambda one: (bool(one.explained_by), _rank(one))))


def health_of(findings: Sequence[Finding]) -> Health:
    """That of the worst finding."""
    worst = max(findings, key=lambda one: one.severity.rank, default=None)
    return _HEALTH[worst.severity] if worst is not None else Health.OK


def _rank(one: Finding) -> tuple[int, float, int, str]:
    return (-one.severity.rank, -(one.time_share or 0.0), 0 if one.role.value == "cause" else 1, one.key)


def _touch(cause: Finding, symptom: Finding) -> bool:
    return not cause.tables or not symptom.tables or bool(set(cause.tables) & set(symptom.tables))


def _leads_to(start: str, end: str, causes: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether ``start`` is among the causes of ``end`` so far: naming ``end`` as its cause would make a circle."""
    waiting, seen = [end], set[str]()
    while waiting:
        key = waiting.pop()
        if key == start:
            return True
        if key not in seen:
            seen.add(key)
            waiting.extend(causes.get(key, ()))
    return False
