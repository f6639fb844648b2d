"""What the statements of b lock, where b changes the schema of a twin."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedStudy
from pgclinic.report.words.migration import HEADS, NOT_IN_IT, lock_rows, lock_words, locks_of
from pgclinic.report.words.verdicts import capitalised


@dataclass(frozen=True)
class MigrationView:
    """``lead`` is the lock that blocks most, ``note`` what the figures do not say."""

    lead: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def migration_view(one: ReportedStudy) -> MigrationView | None:
    """None of a run without a migration."""
    migration = one.comparison.migration if one.comparison is not None else None
    if migration is None:
        return None
    found = locks_of(migration)
    lead = lock_words(*found[0]) if found else "no statement took a lock that blocks others"
    return MigrationView(f"{capitalised(lead)}.", f"{capitalised(NOT_IN_IT)}.", HEADS, tuple(lock_rows(migration)))
