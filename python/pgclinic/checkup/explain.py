"""Causes above the symptoms that they make: a graph over findings, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.time_shares import explained_share
from pgclinic.model.finding import CostKind, Finding, Health, Role, Severity, TimeClaim

_HEALTH = {Severity.NOTICE: Health.WATCH, Severity.WARNING: Health.SICK, Severity.CRITICAL: Health.CRITICAL}


def explain(
    findings: Sequence[Finding], known: Mapping[str, Pathology], case: Case | None = None
) -> tuple[Finding, ...]:
    """The same findings, each with the keys of those that cause it, in the order in which they are shown.

    A finding explains another if its pathology says so and both are of the same statement, where both name any, else
    of the same table, or one of them is of the whole server and need not name the other's. Of two that would explain
    each other the one that comes first in rank is the cause. A cause takes on the severity of what it explains, and
    with a ``case`` also the time.
    """
    ranked = sorted(findings, key=_rank)
    causes: dict[str, tuple[str, ...]] = {}
    for one in ranked:
        found = [
            other.key
            for other in ranked
            if other.key != one.key
            and _explains(known[other.pathology], other, one)
            and not _leads_to(one.key, other.key, causes)
        ]
        causes[one.key] = tuple(found)
    named = [replace(one, explained_by=causes[one.key]) for one in ranked]
    taken = [_with_explained(one, named, causes, case) for one in named]
    return tuple(sorted(taken, key=lambda one: (bool(one.explained_by), _rank(one))))


def _with_explained(
    cause: Finding, findings: Sequence[Finding], causes: Mapping[str, tuple[str, ...]], case: Case | None
) -> Finding:
    """A cause as severe as the worst that it explains, with the time of all of it; else that would fold away."""
    explained = [one for one in findings if one.key != cause.key and _leads_to(cause.key, one.key, causes)]
    if not explained:
        return cause
    severity = max((cause.severity, *(one.severity for one in explained)), key=lambda one: one.rank)
    whole = (cause, *explained)
    claims = [one.claim for one in whole if one.claim is not None]
    if _is_of_statements(cause):
        # Shares of samples are of another whole, and are not what the cost of this finding is called.
        query_ids = {query_id for claim in claims for query_id in claim.query_ids}
        together = sum(case.statement_share(query_id) for query_id in query_ids) if case is not None else None
        shares = [one.time_share for one in whole if _is_of_statements(one)] + [together]
    else:
        together = explained_share(case, claims) if case is not None and claims else None
        shares = [one.time_share for one in whole if not _is_of_statements(one)] + [together]
        if not any(shares):
            # Before 14 no sample says which statement it is of.
            shares = [one.time_share for one in whole]
    share = max((one for one in shares if one is not None), default=None)
    return replace(cause, severity=severity, time_share=share)


def _is_of_statements(one: Finding) -> bool:
    """Whether its time is a share of that of all statements, and not of active sessions."""
    return one.cost is not None and one.cost.kind is CostKind.TIME_SHARE


def claims_of_causes(findings: Sequence[Finding]) -> tuple[TimeClaim, ...]:
    """Those of causes and of what they explain. A symptom alone says where time goes, and not why."""
    return tuple(
        one.claim for one in findings if one.claim is not None and (one.role is Role.CAUSE or bool(one.explained_by))
    )


def health_of(findings: Sequence[Finding]) -> Health:
    """That of the worst finding."""
    worst = max(findings, key=lambda one: one.severity.rank, default=None)
    return _HEALTH[worst.severity] if worst is not None else Health.OK


def _rank(one: Finding) -> tuple[int, float, int, str]:
    return (-one.severity.rank, -(one.time_share or 0.0), 0 if one.role.value == "cause" else 1, one.key)


def _explains(pathology: Pathology, cause: Finding, symptom: Finding) -> bool:
    """Statements that both name decide: two statements of one table have nothing to do with each other."""
    if symptom.pathology not in (*pathology.explains, *pathology.explains_named):
        return False
    ours, theirs = _statements(cause), _statements(symptom)
    if ours and theirs:
        return bool(ours & theirs)
    if set(cause.tables) & set(symptom.tables):
        return True
    of_whole_server = not cause.tables or not symptom.tables
    return of_whole_server and symptom.pathology in pathology.explains


def _statements(one: Finding) -> frozenset[int]:
    """Query ids of its evidence and of the time that it claims."""
    named = {evidence.query_id for evidence in one.evidence if evidence.query_id is not None}
    return frozenset(named | set(one.claim.query_ids if one.claim is not None else ()))


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
