"""A comparison says which measure it compared, and under which workload."""

from __future__ import annotations

from fixtures.comparison import asked, comparison, measured
from fixtures.planned import judge
from fixtures.records import run_info
from pgclinic.model.trial import TrialRecord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.asked import asked_words
from pgclinic.study.compare import PROFILE

RATIOS = (5.5,) * 5


def said(trials: tuple[TrialRecord, ...]) -> str:
    study = asked()
    verdict = judge(study, trials, study.profiles[PROFILE])
    return asked_words(ReportedStudy(run_info(), study, trials, (), verdict, comparison=comparison(RATIOS)))


def test_the_measure_and_the_workload_are_named() -> None:
    words = said(measured(RATIOS))
    assert words.startswith("transactions per second (b / a), running select-only on pgbench's tables at scale 1, ")
    assert words.endswith("client") or words.endswith("clients")
    assert said(()) == "transactions per second (b / a)"
