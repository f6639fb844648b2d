"""What a comparison asked, in words: which measure, under which workload."""

from __future__ import annotations

from pgclinic.report.reported import ReportedStudy
from pgclinic.report.words.workload import workload_words


def asked_words(one: ReportedStudy) -> str:
    """transactions per second (b / a), running tpcb-like on pgbench's tables at scale 1, 4 clients."""
    compared = one.comparison
    by_time = compared is not None and compared.transport is not None
    measure = "server time of the original (b / a)" if by_time else "transactions per second (b / a)"
    spec = next((trial.spec for trial in one.trials), None)
    if spec is None:
        return measure
    return f"{measure}, running {workload_words(spec.dataset, spec.traffic, spec.load.clients)}"
