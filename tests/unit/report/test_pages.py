"""The inside of pages, the control beside the arm."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.page_facts import HELD
from fixtures.planned import judge
from fixtures.records import StudyRun
from pgclinic.model.pages import Missing, PageFacts
from pgclinic.report.sections.pages.view import pages_view

RUN = StudyRun(blocks=2)
TRIALS, _ = RUN.make()
FREE = PageFacts(
    table="global_counters", table_pages=3, elapsed_s=0.1, missing=(Missing(part="heap", reason="superusers only"),)
)


def test_both_arms_stand_side_by_side_and_what_is_not_known_is_a_dash() -> None:
    facts = {"held": HELD, "free": FREE}
    trials = tuple(replace(trial, pages=facts[trial.spec.arm]) for trial in TRIALS)
    view = pages_view(RUN.study, trials, judge(RUN.study, trials))
    assert view is not None
    assert view.table.heads == ("", "free", "held")
    rows = {row[0]: row[1:] for row in view.table.rows}
    assert rows["pages of the table"] == ("3", "250")
    assert rows["versions per HOT chain"] == ("-", "4.5")
    assert rows["row versions per sampled page"] == ("-", "50.0")
    assert rows["index entries marked dead"] == ("-", "25 %")
    assert rows["pages that are all-visible"] == ("-", "10 %")
    assert view.missing == ()


def test_what_could_not_be_had_is_told_with_its_reason() -> None:
    trials = tuple(replace(trial, pages=FREE) for trial in TRIALS)
    view = pages_view(RUN.study, trials, judge(RUN.study, trials))
    assert view is not None
    assert view.missing == ("heap: superusers only",)
    assert [row[0] for row in view.table.rows] == ["pages of the table"]


def test_a_study_that_does_not_look_has_no_such_table() -> None:
    assert pages_view(RUN.study, TRIALS, judge(RUN.study, TRIALS)) is None
