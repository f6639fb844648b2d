"""Several studies at a glance: one line a claim, the word first."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.wording import claim_of, interval_text, outcome, word_in_full


def verdict_table(studies: Sequence[Study], verdicts: Sequence[Verdict]) -> str:
    """Rows of word, study, what was seen and how sure that is, in the order in which they ran."""
    rows = []
    for study, verdict in zip(studies, verdicts, strict=True):
        for index, claim_verdict in enumerate(verdict.claims):
            claim = claim_of(study, claim_verdict)
            name = study.name if index == 0 else ""
            seen = f"{outcome(claim, claim_verdict)}, {interval_text(claim_verdict.interval)}"
            rows.append((word_in_full(claim_verdict).upper(), name, claim.name, seen))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "   ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    )
