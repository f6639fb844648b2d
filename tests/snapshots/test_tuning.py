"""What ``assay``, ``search`` and ``bisect`` print, their pages, and the configuration that a search writes."""

from __future__ import annotations

from fixtures.records import run_info
from fixtures.snapshots import Snapshots, page_sections
from fixtures.tuning import ASSAY, BISECT, LEVELS, SEARCH, plan
from pgclinic.model.tuning import Assay, AssayWord, Bisect, BisectWord, Effect, Search
from pgclinic.report.exports.found_conf import found_conf
from pgclinic.report.kinds import tuning_page
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.climb.text import climb_line
from pgclinic.report.sections.next.tuning import tuning_next
from pgclinic.report.sections.tuned.text import tuning_text

PLACES = (("report", "runs/r/report.html"),)


def tuned(found: Assay | Search | Bisect, places: tuple[tuple[str, str], ...] = PLACES) -> str:
    todo = tuning_next(ReportedTuning(run_info(), plan(), found, "runs/r"))
    return tuning_text(found, plan(), places, resume="runs/r", todo=todo)


def test_an_assay(snapshots: Snapshots) -> None:
    snapshots.check("assay", tuned(ASSAY))
    snapshots.check_page("assay_page", page_sections(tuning_page(ReportedTuning(run_info(), plan(), ASSAY, "runs/r"))))


def test_an_assay_without_an_answer(snapshots: Snapshots) -> None:
    refused = Assay(
        word=AssayWord.REFUSED,
        base_per_s=100.0,
        changed_per_s=0.0,
        whole=None,
        refusal="changed: PostgreSQL 18.6 refused to start",
    )
    equal = Assay(
        word=AssayWord.NO_DIFFERENCE,
        base_per_s=100.0,
        changed_per_s=101.0,
        whole=Effect(ratio=1.01, low=0.98, high=1.04),
        bystanders=("work_mem",),
        resolution=1.1,
        blocks=8,
        trials=40,
        spent_s=200.0,
        is_complete=False,
    )
    texts = [tuned(one, ()) for one in (refused, equal)]
    snapshots.check("assay_without_answer", "\n\n".join(texts))


def test_a_search(snapshots: Snapshots) -> None:
    snapshots.check("search", tuned(SEARCH))
    snapshots.check_page(
        "search_page", page_sections(tuning_page(ReportedTuning(run_info(), plan(), SEARCH, "runs/r")))
    )
    snapshots.check("found_conf", found_conf(SEARCH, LEVELS, run_info()))
    kept = [step for step in SEARCH.steps if step.accepted]
    climb = "\n".join(climb_line(step, number, SEARCH.aim) for number, step in enumerate(kept, start=1))
    snapshots.check("search_climb", climb)


def test_a_bisection(snapshots: Snapshots) -> None:
    snapshots.check("bisect", tuned(BISECT))
    snapshots.check_page(
        "bisect_page", page_sections(tuning_page(ReportedTuning(run_info(), plan(), BISECT, "runs/r")))
    )


def test_bisections_without_a_change(snapshots: Snapshots) -> None:
    words = (BisectWord.NO_CHANGE, BisectWord.INCONCLUSIVE)
    found = [Bisect(word=word, versions=("17.7", "18.6"), releases=(), comparisons=1) for word in words]
    texts = [tuned(one, ()) for one in found]
    snapshots.check("bisect_without_change", "\n\n".join(texts))
