"""The treatments of all findings, tried together."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.text import numbers
from pgclinic.report.sections.findings.view import ProofView, proof_view
from pgclinic.report.words.checkup_lines import cured_numbers


@dataclass(frozen=True)
class WholeCureView:
    """``steps`` names the findings that are treated."""

    proof: ProofView
    steps: str


def whole_cure(one: ReportedCheckup) -> WholeCureView | None:
    """None where they were not tried together."""
    checkup = one.checkup
    if checkup.cure is None:
        return None
    return WholeCureView(proof_view(None, checkup.cure.proof), cured_numbers(checkup, numbers(checkup)))
