"""What a claim compares, in its own unit."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import claim_views
from pgclinic.report.sections.measure.picture import MeasurePicture
from pgclinic.report.sections.measure.sweep import Sweep
from pgclinic.report.words.verdicts import capitalised, measure_words


@dataclass(frozen=True)
class MeasureView:
    """A ``sweep`` where a claim is about several levels, else ``own``."""

    title: str
    sweep: Sweep | None
    own: MeasurePicture | None


def measure_view(one: ReportedStudy) -> MeasureView | None:
    """None for throughput, which is drawn over time."""
    claim = claim_views(one)[0]
    if claim.sweep is None and claim.own is None:
        return None
    return MeasureView(capitalised(measure_words(claim.claim)), claim.sweep, claim.own)
