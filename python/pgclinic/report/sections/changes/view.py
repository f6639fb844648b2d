"""What became of the findings of an earlier checkup."""

from __future__ import annotations

from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.changes.text import change_groups
from pgclinic.report.words.facts import utc_words
from pgclinic.report.words.figures import count


def changes_view(one: ReportedCheckup) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """When the earlier one was taken, and rows; None without an earlier one."""
    changes = one.changes
    if changes is None:
        return None
    when = utc_words(changes.since_epoch_s)
    rows = [(label, words) for label, found in change_groups(changes) for words in found]
    return when, (*rows, ("unchanged", count(changes.same, "finding")))
