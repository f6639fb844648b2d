"""All claims of a study that has several."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import ClaimView, claim_views
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.sections.what_was_run.view import arm_rows


@dataclass(frozen=True)
class ClaimsView:
    claims: tuple[ClaimView, ...]
    is_ladder: bool
    arms: tuple[tuple[str, str, str], ...]
    names: tuple[str, ...]


def claims_view(one: ReportedStudy) -> ClaimsView | None:
    claims = claim_views(one)
    if len(claims) < 2:
        return None
    return ClaimsView(claims, is_ladder(one.verdict), arm_rows(one.study, one.trials), tuple(one.study.arms))
