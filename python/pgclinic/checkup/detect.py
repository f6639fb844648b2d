"""Every pathology is looked for in a case; what cannot be looked for is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.time_shares import share_basis, time_share
from pgclinic.model.checkup import Unchecked
from pgclinic.model.finding import CostKind, Finding, ShareBasis

#: A server with ten thousand ill tables is told of the worst ones; the rest is counted.
SEEN_MAX = 20
#: What a detector may need besides parts of the snapshot, and what is said where it is not there.
_NEEDED: dict[str, tuple[Callable[[Case], bool], str]] = {
    "host": (lambda case: case.host is not None, "only on the machine of the server"),
    "log": (lambda case: case.log is not None, "needs the server's log (--log FILE)"),
    "observation": (lambda case: case.observed_s > 0, "needs an observation (--observe 5s)"),
}


def detect(case: Case, known: Iterable[Pathology]) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """Findings as they are seen, one by one, and what could not be looked for."""
    findings: dict[str, Finding] = {}
    unchecked: list[Unchecked] = []
    for pathology in known:
        missing = cannot_look(case, pathology)
        if missing is not None:
            unchecked.append(missing)
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


def cannot_look(case: Case, pathology: Pathology) -> Unchecked | None:
    """Why this pathology cannot be looked for here, or None."""
    since, until = pathology.since, pathology.until
    if case.major < since:
        return Unchecked(pathology=pathology.name, reason=f"PostgreSQL {since} and later", since=since)
    if until is not None and case.major > until:
        return Unchecked(pathology=pathology.name, reason=f"PostgreSQL {until} and earlier", until=until)
    missing = (_missing(case, pathology, part) for part in pathology.needs)
    return next((unchecked for unchecked in missing if unchecked is not None), None)


def _missing(case: Case, pathology: Pathology, part: str) -> Unchecked | None:
    if part in _NEEDED:
        is_there, reason = _NEEDED[part]
        return None if is_there(case) else Unchecked(pathology=pathology.name, reason=reason)
    gap = next((gap for gap in case.snapshot.gaps if gap.what == part), None)
    if gap is None:
        return None
    return Unchecked(pathology=pathology.name, reason=f"{part}: {gap.problem}", since=gap.since)


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
