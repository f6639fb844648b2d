"""What was looked for, and what could not be: pathologies by the reason, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.snapshot.text import gap_lines
from pgclinic.report.words.findings import pathologies_words, unchecked_reasons


@dataclass(frozen=True)
class LookedFor:
    looked_for: str
    none_found: bool
    unchecked: tuple[tuple[str, str], ...]
    gaps: tuple[str, ...]


def looked_for(one: ReportedCheckup) -> LookedFor:
    checkup = one.checkup
    return LookedFor(
        looked_for=pathologies_words(checkup.pathologies),
        none_found=not checkup.findings,
        unchecked=tuple((reason, ", ".join(names)) for reason, names in unchecked_reasons(checkup).items()),
        gaps=tuple(line.strip() for line in gap_lines([gap for gap in checkup.gaps if gap.since is None])),
    )
