"""What ``advise`` prints, and the script that it writes."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.advised import an_advice, index
from fixtures.records import run_info
from fixtures.snapshots import Snapshots
from pgclinic.model.advise import AdviceProof, AdviceWord, ChosenBy, LeftOutIndex
from pgclinic.report.exports.advice_script import advice_script
from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.advice.text import advice_text
from pgclinic.report.sections.next.twins import advice_next


def test_advised_indexes(snapshots: Snapshots) -> None:
    folder = "runs/2026-01-05-advise-shop"
    todo = advice_next(ReportedAdvice(run_info(), an_advice(), folder))
    snapshots.check("advise", advice_text(an_advice(), f"{folder}/report.html", folder, script="shop.sql", todo=todo))
    snapshots.check("advise_script", advice_script(an_advice()))


def test_no_index(snapshots: Snapshots) -> None:
    none = an_advice(
        word=AdviceWord.NONE, indexes=(), drops=(), idle=(), steps=(), proof=None, chosen_by=ChosenBy.GREEDY
    )
    snapshots.check("advise_nothing", advice_text(none))


def test_no_index_where_the_twin_runs_little_of_the_time(snapshots: Snapshots) -> None:
    none = an_advice(word=AdviceWord.NONE, indexes=(), drops=(), idle=(), steps=(), proof=None, tried_share=0.12)
    todo = advice_next(ReportedAdvice(run_info(), none, "runs/x"))
    snapshots.check("advise_little", advice_text(none, todo=todo))


def test_indexes_that_were_left_out_in_blocks(snapshots: Snapshots) -> None:
    (first,) = an_advice().indexes
    gone = index("note", name="orders_note_idx")
    proof = AdviceProof(
        word="faster",
        ratio=0.54,
        low=0.5,
        high=0.6,
        blocks=8,
        left_out=(
            LeftOutIndex(name=first.definition.name, ratio=0.62, low=0.55, high=0.7, blocks=8),
            LeftOutIndex(name="orders_note_idx", ratio=1.05, low=1.01, high=1.09, blocks=8),
            LeftOutIndex(name="orders_day_idx", ratio=0.99, low=0.95, high=1.03, blocks=8),
        ),
    )
    others = (replace(first, definition=index("day", name="orders_day_idx"), saved_share=0.012),)
    others += (replace(first, definition=index("state", name="orders_state_idx"), saved_share=0.01),)
    snapshots.check("advise_left_out", advice_text(an_advice(indexes=(first, *others), withdrawn=(gone,), proof=proof)))
