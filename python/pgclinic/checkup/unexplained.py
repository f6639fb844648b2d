"""What no finding accounts for: waits, statements and settings, for illnesses that have no detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from pgclinic.checkup.case import Case
from pgclinic.checkup.time_shares import explained_basis, parts_of, unclaimed
from pgclinic.model.checkup import SettingDiffers, ShareOf, Unexplained
from pgclinic.model.finding import ShareBasis, TimeClaim

#: Below that nothing is left that would be worth a look.
SHARE_MIN = 0.1
#: An idle server has no time to explain.
SESSIONS_MIN = 0.1
SHOWN_MAX = 3
ON_CPU = "CPU"
#: Categories of pg_settings whose settings change how fast a server is.
_OF_SPEED = ("Autovacuum", "Lock Management", "Query Tuning", "Resource Usage", "Vacuuming", "Write-Ahead Log")


def unexplained(case: Case, claims: Sequence[TimeClaim], judged: Set[str]) -> Unexplained | None:
    """``claims`` are those of causes, ``judged`` the settings that detectors read."""
    if explained_basis(case, claims) is ShareBasis.COUNTERS:
        return _by_counters(case, claims, judged)
    rows = unclaimed(case, claims)
    whole = sum(weight for _, weight, _ in rows)
    left = sum(rest for _, _, rest in rows)
    if not whole or (case.active_sessions or 0.0) < SESSIONS_MIN or left < SHARE_MIN * whole:
        return None
    waits, statements = Counter[str](), Counter[int]()
    for row, _, rest in rows:
        kind, event = row.get("wait_event_type"), row.get("wait_event")
        waits[f"{kind}:{event}" if kind else ON_CPU] += rest  # type: ignore[assignment]
        query_id = row.get("query_id")
        if isinstance(query_id, int):
            statements[query_id] += rest  # type: ignore[assignment]
    return Unexplained(
        share=left / whole,
        waits=tuple(ShareOf(name=name, share=rest / whole) for name, rest in waits.most_common(SHOWN_MAX) if rest),
        statements=tuple(
            _share_of(case, query_id, rest / whole) for query_id, rest in statements.most_common(SHOWN_MAX) if rest
        ),
        settings=tuple(_settings(case, judged)),
    )


def _by_counters(case: Case, claims: Sequence[TimeClaim], judged: Set[str]) -> Unexplained | None:
    """Of the time of all statements."""
    parts = parts_of(claims)
    left = {
        statement.query_id: case.statement_share(statement.query_id) * (1.0 - parts.get(statement.query_id, 0.0))
        for statement in case.snapshot.counters.statements
        if statement.is_top_level
    }
    if (case.active_sessions or 0.0) < SESSIONS_MIN or sum(left.values()) < SHARE_MIN:
        return None
    largest = Counter(left).most_common(SHOWN_MAX)
    return Unexplained(
        share=min(1.0, sum(left.values())),
        share_by=ShareBasis.COUNTERS,
        statements=tuple(_share_of(case, query_id, share) for query_id, share in largest if share > 0),
        settings=tuple(_settings(case, judged)),
    )


def _share_of(case: Case, query_id: int, share: float) -> ShareOf:
    return ShareOf(name=case.texts.get(query_id, f"statement {query_id}"), share=share, query_id=query_id)


def _settings(case: Case, judged: Set[str]) -> list[SettingDiffers]:
    return [
        SettingDiffers(
            name=setting.name, value=case.shown(setting.name), default=case.shown_default(setting.name) or ""
        )
        for setting in case.snapshot.settings
        if setting.name not in judged
        and setting.category.startswith(_OF_SPEED)
        and setting.default_value is not None
        and setting.value != setting.default_value
        and setting.source not in ("default", "override", "session", "client")
    ]
