"""What ``advise`` prints, and the script that it writes."""

from __future__ import annotations

from fixtures.advised import an_advice
from fixtures.records import run_info
from fixtures.snapshots import Snapshots
from pgclinic.model.advise import AdviceWord, ChosenBy
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
