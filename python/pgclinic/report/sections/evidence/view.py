"""How the verdict was reached: windows, causes, steps and blocks of each claim."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import ClaimView, claim_views
from pgclinic.report.sections.ladder.steps import is_ladder


@dataclass(frozen=True)
class EvidenceView:
    claims: tuple[ClaimView, ...]


def evidence_view(one: ReportedStudy) -> EvidenceView:
    """A ladder shows its other claims with their own evidence."""
    claims = claim_views(one)
    return EvidenceView(claims[:1] if is_ladder(one.verdict) else claims)
