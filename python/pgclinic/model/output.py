"""What ``--json`` prints: one object that names the run's folder and its report beside the answer."""

from __future__ import annotations

from pgclinic.model.compare import Comparison
from pgclinic.model.record import Record
from pgclinic.model.verdict import Verdict


class StudyOutput(Record):
    """``study run --json`` and ``study judge --json``; ``run`` and ``report`` are paths as the user would type them.

    ``report`` is null where it could not be written.
    """

    run: str
    report: str | None
    verdict: Verdict


class CompareOutput(Record):
    """``compare --json``, and ``study judge --json`` for the run of a comparison; ``report`` as above."""

    run: str
    report: str | None
    comparison: Comparison
