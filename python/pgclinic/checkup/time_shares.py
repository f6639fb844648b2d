"""How much of the time a finding accounts for: of statements by their counters, of all else by samples of sessions.

A sample of an active session is one unit of time. It belongs to a finding if it fits the finding's claim, with the
claim's fraction. Of claims by waits the largest counts, those by statements are parts of its time and are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pgclinic.checkup.case import Case
from pgclinic.model.finding import ShareBasis, TimeClaim
from pgclinic.model.sample import Row

#: With fewer samples of active sessions one more or less is a share that somebody would notice.
SIGHTINGS_MIN = 20


def time_share(case: Case, claim: TimeClaim) -> float | None:
    """Of one claim, 0 to 1: of all statements where it is of statements alone, else of active sessions; None when no
    such time was seen."""
    if claim.is_of_statements:
        return counted_share(case, claim) if case.all_statements_ms else None
    return _sampled_share(case, (claim,))


def share_basis(claim: TimeClaim) -> ShareBasis:
    return ShareBasis.COUNTERS if claim.is_of_statements else ShareBasis.SAMPLES


def counted_share(case: Case, claim: TimeClaim) -> float:
    """The part of the time of all statements that the claim has of its own."""
    return min(1.0, sum(case.statement_share(one) * part for one, part in claim.by_statement.items()))


def parts_of(claims: Iterable[TimeClaim]) -> Mapping[int, float]:
    """The largest part that any of these has of each statement's time."""
    parts: dict[int, float] = {}
    for claim in claims:
        for query_id, part in claim.by_statement.items() if claim.is_of_statements else ():
            parts[query_id] = max(parts.get(query_id, 0.0), part)
    return parts


def united(claims: Iterable[TimeClaim]) -> tuple[TimeClaim, ...]:
    """The same, those of statements as one that has of each statement the largest part."""
    asked = tuple(claims)
    parts = parts_of(asked)
    others = tuple(claim for claim in asked if not claim.is_of_statements)
    return (*others, of_statements(parts)) if parts else others


def of_statements(parts: Mapping[int, float], *, at_most: bool = False) -> TimeClaim:
    """A claim of these parts of the time of statements, by query id."""
    known = dict(sorted(parts.items()))
    if len(set(known.values())) > 1:
        return TimeClaim(query_ids=tuple(known), fractions=tuple(known.values()), at_most=at_most)
    return TimeClaim(query_ids=tuple(known), fraction=next(iter(known.values()), 1.0), at_most=at_most)


def explained_basis(case: Case, claims: Iterable[TimeClaim]) -> ShareBasis:
    """By what it is known how much of the time several claims have together: by samples of active sessions, and where
    those are few and most of them wait for nothing, by the counters of statements if all claims are of such."""
    asked = tuple(claims)
    rows = unclaimed(case, ())
    seen = sum(weight for _, weight, _ in rows)
    working = sum(weight for row, weight, _ in rows if not row.get("wait_event_type"))
    counted = bool(asked) and all(claim.is_of_statements for claim in asked) and case.all_statements_ms > 0
    return ShareBasis.COUNTERS if counted and seen < SIGHTINGS_MIN and working > seen / 2 else ShareBasis.SAMPLES


def explained_share(case: Case, claims: Iterable[TimeClaim]) -> float | None:
    """Of several claims together; None when no active session was sampled."""
    asked = tuple(claims)
    if explained_basis(case, asked) is ShareBasis.COUNTERS:
        return min(1.0, sum(counted_share(case, claim) for claim in united(asked)))
    return _sampled_share(case, asked)


def _sampled_share(case: Case, claims: Iterable[TimeClaim]) -> float | None:
    rows = unclaimed(case, claims)
    whole, left = sum(weight for _, weight, _ in rows), sum(rest for _, _, rest in rows)
    return (whole - left) / whole if whole else None


def unclaimed(case: Case, claims: Iterable[TimeClaim]) -> list[tuple[Row, float, float]]:
    """Every sampled row of active sessions, how many sessions it stands for, and the part of them that no claim has."""
    asked = tuple(claims)
    return [
        (row, float(weight), weight * (1.0 - _claimed(row, asked)))
        for row in case.active_rows
        if isinstance(weight := row.get("backends", 1), int | float)
    ]


def _claimed(row: Row, claims: Iterable[TimeClaim]) -> float:
    """The part of the time of this row that the claims have together."""
    waits = statements = 0.0
    for claim in claims:
        part = claim.by_statement.get(query_id, 0.0) if isinstance(query_id := row.get("query_id"), int) else 0.0
        if claim.is_of_statements:
            statements += part
        else:
            waits = max(waits, part, claim.fraction if _fits(row, claim) else 0.0)
    return min(1.0, max(waits, statements))


def _fits(row: Row, claim: TimeClaim) -> bool:
    """Whether the session waits so, or is of this kind."""
    if row.get("backend_type") in claim.backend_types:
        return True
    event = f"{row.get('wait_event_type')}:{row.get('wait_event')}"
    return any(event == wait or (wait.endswith(":") and event.startswith(wait)) for wait in claim.waits)
