"""What no finding accounts for: waits, statements and settings, for illnesses that have no detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from pgclinic.checkup.case import Case
from pgclinic.checkup.time_shares import unclaimed
from pgclinic.model.checkup import SettingDiffers, ShareOf, Unexplained
from pgclinic.model.finding import TimeClaim

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
            ShareOf(name=case.texts.get(one, f"statement {one}"), share=rest / whole, query_id=one)
            for one, rest in statements.most_common(SHOWN_MAX)
            if rest
        ),
        settings=tuple(_settings(case, judged)),
    )


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
