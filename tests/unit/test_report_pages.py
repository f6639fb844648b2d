"""The inside of pages, the control beside the arm."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.records import StudyRun
from pgclinic.model.pages import HeapFacts, IndexFacts, MapFacts, Missing, PageFacts
from pgclinic.report.pages_view import pages_view
from pgclinic.study.judge import judge

RUN = StudyRun(blocks=2)
TRIALS, _ = RUN.make()
HEAP = HeapFacts(
    sampled_pages=10,
    normal=500,
    redirect=0,
    dead=20,
    unused=0,
    chains=100,
    hot_chains=90,
    hot_chain_mean=4.5,
    hot_chain_max=9,
    dead_roots=80,
    unsure_roots=0,
)
LEAVES = IndexFacts(leaf_pages=2, tuples=100, entries=200, dead_entries=50, keys=20, entries_per_key=10.0)
HELD = PageFacts(
    table="global_counters",
    table_pages=250,
    elapsed_s=0.1,
    index="global_counters_pkey",
    index_pages=12,
    heap=HEAP,
    leaves=LEAVES,
    visibility=MapFacts(all_visible_pages=25, all_frozen_pages=0),
)
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
    assert rows["versions in a HOT chain"] == ("-", "4.5")
    assert rows["row versions a sampled page"] == ("-", "50.0")
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
