"""The words of every page, section by section: a study's run, a ladder, comparisons, the memory of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.bench import bench_result, bench_run_info, bench_seconds, bench_trial, with_histograms
from fixtures.comparison import asked, measured
from fixtures.doubts import starved
from fixtures.ladder import NOTHING, REFUSED, arms_seen, ladder_info, ladder_study, ladder_trials, ladder_verdict
from fixtures.observed import watched
from fixtures.page_facts import HELD
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, run_info, trial
from fixtures.snapshots import Snapshots, page_sections
from fixtures.statements import SELECT, UPDATE, Counted, events_of, plan, script, sent, statistics, waiting
from pgclinic.judge.calibration import calibration_of
from pgclinic.judge.comparison import compare
from pgclinic.model.doubt import Doubt
from pgclinic.model.log import ErrorLogged, LogOrigin
from pgclinic.model.memory import MemorySnapshot, MemorySource, ProcessMemory
from pgclinic.model.pages import MapFacts, Missing
from pgclinic.model.run import RunKind
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.report.kinds import bench_page, study_page
from pgclinic.report.reported import ReportedBench, ReportedStudy
from pgclinic.report.sections.memory.view import render_memory
from pgclinic.samples.memory_dump import last_dump
from pgclinic.study.compare import PROFILE

STUDY = global_counters()
STARVED = starved(0.6)
PAGES = replace(
    HELD,
    visibility=MapFacts(all_visible_pages=25, all_frozen_pages=0),
    missing=(Missing(part="heap", reason="superusers only"),),
)
COUNTED = (
    Counted(11, "UPDATE accounts SET balance = balance + $1 WHERE id = $2", calls=1000, total_ms=80.0),
    Counted(12, "SELECT balance FROM accounts WHERE id = $1", calls=1000, total_ms=20.0),
)
INDEX_SCAN = (
    "Index Scan using accounts_pkey on accounts  (cost=0.28..8.29 rows=1 width=10)\n        Index Cond: (id = 1)"
)
SEQUENTIAL_SCAN = "Seq Scan on accounts  (cost=0.00..20.50 rows=1 width=10)\n        Filter: (id = 1)"


def _study_run() -> str:
    """Everything that a run of a study can show but statements, with a calibration and a doubt."""
    trials, seconds = StudyRun().make()
    trials = tuple(replace(one, pages=PAGES, doubts=(replace(STARVED, share=0.2),)) for one in watched(trials))
    steady = [
        trial(STUDY, n, 0, "free", [1000.0 + 10 * ((second * n) % 5) for second in range(16)]) for n in range(1, 5)
    ]
    calibration = calibration_of(STUDY.claims, steady, budget_s=600, block_s=30, blocks_max=12)
    return study_page(
        ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials), "runs/one", calibration=calibration)
    )


def _with_statements() -> str:
    def with_statements(one: TrialRecord) -> TrialRecord:
        lowest = INDEX_SCAN if one.spec.arm == "held" else SEQUENTIAL_SCAN
        text = f"Update on accounts  (cost=0.28..8.30 rows=0 width=0)\n  ->  {lowest}"
        logged = plan("UPDATE accounts SET balance = balance + 1", text, query_id=11, ms=2.0)
        assert one.load is not None
        return replace(
            one,
            samples=statistics(*COUNTED, activity=(waiting(11, 3, "transactionid"),)),
            events=events_of(logged),
            load=replace(one.load, scripts=(script(sent(UPDATE), sent(SELECT)),)),
        )

    trials, seconds = StudyRun(blocks=2).make()
    trials = tuple(map(with_statements, trials))
    return study_page(ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials), "runs/one"))


def _invalid_run() -> str:
    trials = blocks_of(STUDY, (2.43,) * 5, doubts=(STARVED,))
    return study_page(ReportedStudy(run_info(), STUDY, trials, (), judge(STUDY, trials), "runs/one"))


def _bench_run() -> str:
    """With the histogram of each second, and with an error that the server logged."""
    record = with_histograms(bench_trial())
    failed = ErrorLogged(
        origin=LogOrigin(at_us=0), severity="ERROR", sqlstate="23505", message="duplicate key", statement=None
    )
    record = replace(record, events=TrialEvents(kept=(TrialEvent(at_s=4.5, event=failed),)))
    return bench_page(ReportedBench(bench_run_info(), bench_result(record), record, bench_seconds(record), "runs/one"))


def _nothing_ran() -> str:
    failed = tuple(failed_trial(STUDY, n, n, "held", "killed", server_version="18.6") for n in (1, 2))
    return study_page(ReportedStudy(run_info(profile="full"), STUDY, failed, (), judge(STUDY, failed), "runs/one"))


def _comparison(*ratios: float, doubts: tuple[Doubt, ...] = ()) -> str:
    study = asked()
    trials = tuple(replace(one, doubts=doubts) for one in watched(measured(ratios)))
    profile = study.profiles[PROFILE]
    verdict = judge(study, trials, profile)
    command = ("pgclinic", "compare", "--a", "set:work_mem=4MB", "--b", "set:work_mem=64MB")
    info = run_info(kind=RunKind.COMPARE, name="compare", profile=PROFILE, command=command)
    return study_page(
        ReportedStudy(info, study, trials, (), verdict, "runs/one", compare(study, trials, verdict, profile))
    )


def _ladder(*, broken: bool = False) -> str:
    trials, seconds = ladder_trials()
    verdict = ladder_verdict((*arms_seen()[:5], REFUSED, NOTHING)) if broken else ladder_verdict()
    return study_page(ReportedStudy(ladder_info(), ladder_study(), trials, seconds, verdict, "runs/one"))


def _memory() -> str:
    text = (Path(__file__).parents[1] / "fixtures" / "memory" / "18.txt").read_bytes()
    found = last_dump(messages(text, LogDestination.STDERR, pid=19453, prefix="%m [%p] "))
    assert found is not None
    first = MemorySnapshot(
        pid=19453,
        at_s=1_795_258_400.0,
        source=MemorySource.LOG,
        root=found[0],
        title="postgres: app shop [local] idle",
        process=ProcessMemory(rss_anon_bytes=3 << 20, pss_bytes=5 << 20),
        unread_bytes=4096,
    )
    root = replace(first.root, total_bytes=first.root.total_bytes + 65_536)
    return render_memory([first, replace(first, at_s=first.at_s + 2, root=root)], "18.6")


PAGES_SHOWN: dict[str, Callable[[], str]] = {
    "study": _study_run,
    "bench": _bench_run,
    "study-statements": _with_statements,
    "study-invalid": _invalid_run,
    "study-nothing-ran": _nothing_ran,
    "comparison": lambda: _comparison(0.72, 0.75, 0.71, 0.74, 0.73),
    "comparison-invalid": lambda: _comparison(0.72, 0.75, 0.71, 0.74, 0.73, doubts=(STARVED,)),
    "ladder": _ladder,
    "ladder-refused": lambda: _ladder(broken=True),
    "memory": _memory,
}


@pytest.mark.parametrize("name", PAGES_SHOWN)
def test_page(name: str, snapshots: Snapshots) -> None:
    snapshots.check_page(name, page_sections(PAGES_SHOWN[name]()))


def test_no_page_is_left_over(snapshots: Snapshots) -> None:
    if snapshots.folder.is_dir():
        assert {path.name for path in snapshots.folder.iterdir()} <= set(PAGES_SHOWN)
