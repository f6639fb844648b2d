"""How much of the time of active sessions a finding accounts for, by samples of what they did.

A sample of an active session is one unit of time. It belongs to a finding if it fits the finding's claim, with the
claim's fraction; a sample that fits several counts once, with the largest fraction.
"""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.checkup.case import Case
from pgclinic.model.finding import TimeClaim
from pgclinic.model.sample import Row


def time_share(case: Case, claim: TimeClaim) -> float | None:
    """Of one claim, 0 to 1; None when no active session was sampled."""
    return explained_share(case, (claim,))


def explained_share(case: Case, claims: Iterable[TimeClaim]) -> float | None:
    """Of several claims together; None when no active session was sampled."""
    rows = unclaimed(case, claims)
    whole, left = sum(weight for _, weight, _ in rows), sum(rest for _, _, rest in rows)
    return (whole - left) / whole if whole else None


def unclaimed(case: Case, claims: Iterable[TimeClaim]) -> list[tuple[Row, float, float]]:
    """Every sampled row of active sessions, how many sessions it stands for, and the part of them that no claim has."""
    asked = tuple(claims)
    return [
        (row, float(weight), weight * (1.0 - max((one.fraction for one in asked if _fits(row, one)), default=0.0)))
        for row in case.active_rows
        if isinstance(weight := row.get("backends", 1), int | float)
    ]


def _fits(row: Row, claim: TimeClaim) -> bool:
    if row.get("query_id") in claim.query_ids and row.get("query_id") is not None:
        return True
    if row.get("backend_type") in claim.backend_types:
        return True
    event = f"{row.get('wait_event_type')}:{row.get('wait_event')}"
    return any(event == one or (one.endswith(":") and event.startswith(one)) for one in claim.waits)
