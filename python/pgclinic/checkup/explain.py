"""Causes above the symptoms that they make: a graph over findings, and the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.time_shares import counted_share, explained_share, of_statements, parts_of, united
from pgclinic.model.finding import (
    Confidence,
    CostKind,
    Fact,
    Finding,
    Health,
    Role,
    Severity,
    ShareBasis,
    TimeClaim,
    Unit,
)

#: The part of the time of all statements that a finding would have, had others not claimed it.
TAKEN = "share that other findings have of it"
_HEALTH = {Severity.NOTICE: Health.WATCH, Severity.WARNING: Health.SICK, Severity.CRITICAL: Health.CRITICAL}


def explain(
    findings: Sequence[Finding],
    known: Mapping[str, Pathology],
    case: Case | None = None,
    *,
    refuted: Set[tuple[str, str]] = frozenset(),
    saved_together: Mapping[int, float] | None = None,
) -> tuple[Finding, ...]:
    """The same findings, each with the keys of those that cause it, in the order in which they are shown.

    A finding explains another if its pathology says so and both are of the same statement, where both name any, else
    of the same table, or one of them is of the whole server and need not name the other's. Of two that would explain
    each other the one that comes first in rank is the cause. A cause takes on the severity of what it explains, and
    with a ``case`` also the time, of which each second is one cause's. ``refuted`` are pairs of keys, a cause and what
    an experiment says that it does not explain; ``saved_together`` is the part of statements that all cures save.
    """
    ranked = sorted(findings, key=_rank)
    causes: dict[str, tuple[str, ...]] = {}
    for finding in ranked:
        found = [
            other.key
            for other in ranked
            if other.key != finding.key
            and (other.key, finding.key) not in refuted
            and _explains(known[other.pathology], other, finding)
            and not _leads_to(finding.key, other.key, causes)
        ]
        causes[finding.key] = tuple(found)
    named = [replace(one, explained_by=causes[one.key]) for one in ranked]
    taken = [_with_explained(finding, named, causes, case) for finding in named]
    once = shared_once(taken, case, saved_together or {}) if case is not None else taken
    return in_order_of_rank(once)


def in_order_of_rank(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Causes first, the most severe first, then those that account for most of the time."""
    return tuple(sorted(findings, key=lambda one: (bool(one.explained_by), _rank(one))))


def _with_explained(
    cause: Finding, findings: Sequence[Finding], causes: Mapping[str, tuple[str, ...]], case: Case | None
) -> Finding:
    """A cause as severe as the worst that it explains, with the time of all of it; else that would fold away."""
    explained = [
        finding for finding in findings if finding.key != cause.key and _leads_to(cause.key, finding.key, causes)
    ]
    if not explained:
        return cause
    severity = max((cause.severity, *(one.severity for one in explained)), key=lambda one: one.rank)
    whole = (cause, *explained)
    taken = replace(cause, severity=severity)
    claims = [one.claim for one in whole if one.claim is not None]
    if _is_of_statements(cause) or (claims and all(claim.is_of_statements for claim in claims)):
        return _with_statements(taken, explained, case)
    # Shares of statements are of another whole, and are not what the time of this finding is called.
    shares = [one.time_share for one in whole if not _is_of_statements(one)]
    shares += [explained_share(case, united(claims)) if case is not None and claims else None]
    share = max((one for one in shares if one is not None), default=None)
    return replace(taken, time_share=share, time_share_by=ShareBasis.SAMPLES if share is not None else None)


def _with_statements(cause: Finding, explained: Sequence[Finding], case: Case | None) -> Finding:
    """Of a statement that the cause claims it knows best which part its cure would save.

    What nobody knows, such as what a cure saves of a statement that dominates, is taken only where nothing is known.
    """
    theirs = [finding.claim for finding in explained if finding.claim is not None]
    own = cause.claim.by_statement if cause.claim is not None else {}
    parts = {**parts_of(claim for claim in theirs if not claim.at_most), **own}
    at_most = cause.claim is not None and cause.claim.at_most if parts else True
    parts = parts or dict(parts_of(theirs))
    claim = of_statements(parts, at_most=at_most) if parts else None
    shares = [cause.time_share, counted_share(case, claim) if case is not None and claim is not None else None]
    share = max((one for one in shares if one is not None), default=None)
    basis = cause.time_share_by if own else None
    return replace(cause, claim=claim, time_share=share, time_share_by=basis or ShareBasis.COUNTERS)


def shared_once(findings: Sequence[Finding], case: Case, saved_together: Mapping[int, float]) -> tuple[Finding, ...]:
    """The same findings, of which no two claim the same second of a statement, but for a cause and what it explains.

    What was measured comes first, then what is known to be saved, then what is most certain; of equals the one that
    saves most. The others have what is left of the statement's time, or of what all that were measured save together.
    """
    taken: dict[int, float] = {}
    shared: dict[str, Finding] = {}
    for finding in sorted(findings, key=_certainty):
        claim = finding.claim
        if claim is None or not claim.is_of_statements or finding.role is not Role.CAUSE or finding.explained_by:
            continue
        known = saved_together if finding.time_share_by is ShareBasis.PLANS else {}
        parts = {
            key: max(0.0, min(part, known.get(key, 1.0) - taken[key])) if key in taken else part
            for key, part in claim.by_statement.items()
        }
        taken |= {key: taken.get(key, 0.0) + part for key, part in parts.items()}
        if parts != claim.by_statement:
            shared[finding.key] = _with_less(finding, of_statements(parts, at_most=claim.at_most), case)
    return tuple(shared.get(finding.key, finding) for finding in findings)


def _certainty(one: Finding) -> tuple[bool, bool, int, float, str]:
    certainty = tuple(Confidence).index(one.confidence)
    at_most = one.claim is not None and one.claim.at_most
    return (one.time_share_by is not ShareBasis.PLANS, at_most, certainty, -(one.time_share or 0.0), one.key)


def _with_less(one: Finding, claim: TimeClaim, case: Case) -> Finding:
    share = counted_share(case, claim)
    taken = max((one.time_share or 0.0) - share, 0.0)
    cost = one.cost
    if cost is not None and cost.kind is CostKind.TIME_SHARE:
        cost = replace(cost, basis=(*cost.basis, Fact(name=TAKEN, value=taken, unit=Unit.SHARE)))
    return replace(one, claim=claim, time_share=share, cost=cost)


def _is_of_statements(one: Finding) -> bool:
    """Whether its time is a share of that of all statements, and not of active sessions."""
    if one.claim is not None:
        return one.claim.is_of_statements
    return one.cost is not None and one.cost.kind is CostKind.TIME_SHARE


def claims_of_causes(findings: Sequence[Finding]) -> tuple[TimeClaim, ...]:
    """The claims of causes and of what they explain. A symptom alone says where time goes, and not why."""
    claiming = [
        finding
        for finding in findings
        if finding.claim is not None and (finding.role is Role.CAUSE or finding.explained_by)
    ]
    claims = [one.claim for one in claiming if one.claim is not None and not one.explained_by]
    known = {query_id for claim in claims for query_id in claim.query_ids}
    for claim in united(one.claim for one in claiming if one.claim is not None and one.explained_by):
        # A cause has the statements of what it explains, unless its own time is of another kind.
        parts = {key: part for key, part in claim.by_statement.items() if key not in known}
        if not claim.is_of_statements:
            claims.append(claim)
        elif parts:
            claims.append(of_statements(parts, at_most=claim.at_most))
    return tuple(claims)


def health_of(findings: Sequence[Finding]) -> Health:
    """The health that the worst finding stands for."""
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
