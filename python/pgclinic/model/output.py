"""What ``--json`` prints: one object that names the run's folder and its report beside the answer."""

from __future__ import annotations

from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.record import Record
from pgclinic.model.tuning import Assay, Bisect, Search
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


class CheckupOutput(Record):
    """``checkup --json``; ``run`` and ``report`` are null where nothing is kept, ``changes`` without ``--since``."""

    run: str | None
    report: str | None
    checkup: Checkup
    changes: Changes | None = None


class AssayOutput(Assay, kw_only=True):
    """``assay --json``: the assay with its run and its report, as above."""

    run: str
    report: str | None


class SearchOutput(Search, kw_only=True):
    """``search --json``: the search with its run and its report."""

    run: str
    report: str | None


class BisectOutput(Bisect, kw_only=True):
    """``bisect --json``: the bisection with its run and its report."""

    run: str
    report: str | None
