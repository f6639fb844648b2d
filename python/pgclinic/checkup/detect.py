"""Every pathology is looked for in a case; what cannot be looked for is named."""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.time_shares import share_basis, time_share
from pgclinic.model.checkup import Unchecked
from pgclinic.model.finding import CostKind, Finding, ShareBasis

#: A server with ten thousand ill tables is told of the worst ones; the rest is counted.
SEEN_MAX = 20


def detect(case: Case, known: Iterable[Pathology]) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """Findings as they are seen, one by one, and what could not be looked for."""
    findings: dict[str, Finding] = {}
    unchecked: list[Unchecked] = []
    for pathology in known:
        reason = cannot_look(case, pathology)
        if reason is not None:
            unchecked.append(Unchecked(pathology=pathology.name, reason=reason))
            continue
        try:
            seen = list(pathology.detect(case))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # One detector that meets what it did not expect must not cost the user all the others.
            unchecked.append(Unchecked(pathology=pathology.name, reason=f"{type(error).__name__}: {error}"))
            continue
        seen.sort(key=lambda one: one.severity.rank, reverse=True)
        for one in seen[:SEEN_MAX]:
            found = _finding(case, pathology, one)
            findings.setdefault(found.key, found)
    return tuple(findings.values()), tuple(unchecked)


def cannot_look(case: Case, pathology: Pathology) -> str | None:
    """Why this pathology cannot be looked for here, or None."""
    if case.major < pathology.since:
        return f"PostgreSQL {pathology.since} and later"
    if pathology.until is not None and case.major > pathology.until:
        return f"PostgreSQL {pathology.until} and earlier"
    return next((reason for part in pathology.needs if (reason := _missing(case, part)) is not None), None)


def _missing(case: Case, part: str) -> str | None:
    if part == "host":
        return "only on the machine of the server" if case.host is None else None
    if part == "log":
        return "needs the server's log (--log FILE)" if case.log is None else None
    if part == "observation":
        return None if case.observed_s else "needs an observation (--observe 5s)"
    gap = next((gap for gap in case.snapshot.gaps if gap.what == part), None)
    return f"{part}: {gap.problem}" if gap is not None else None


def _time_share(case: Case, seen: Seen) -> tuple[float | None, ShareBasis | None]:
    """One figure for one cost: what the counters of statements say, where the cost is theirs; else by the claim."""
    if seen.cost is not None and seen.cost.kind is CostKind.TIME_SHARE:
        return seen.cost.value, ShareBasis.COUNTERS
    share = time_share(case, seen.claim) if seen.claim is not None else None
    return share, share_basis(seen.claim) if seen.claim is not None and share is not None else None


def _finding(case: Case, pathology: Pathology, seen: Seen) -> Finding:
    share, basis = _time_share(case, seen)
    return Finding(
        key=f"{pathology.name}:{seen.subject}",
        pathology=pathology.name,
        title=pathology.title,
        area=pathology.area,
        role=pathology.role,
        subject=seen.subject,
        severity=seen.severity,
        confidence=seen.confidence,
        mechanism=pathology.mechanism,
        evidence=seen.evidence,
        tables=seen.tables,
        cost=seen.cost,
        claim=seen.claim,
        time_share=share,
        time_share_by=basis,
        treatments=seen.treatments,
        references=pathology.references,
        no_proof=pathology.no_proof,
    )
