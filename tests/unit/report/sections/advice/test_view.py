"""The page of an advice and its Markdown: the answer with what to run first, then each index."""

from __future__ import annotations

import re

from fixtures.advised import an_advice
from fixtures.records import run_info
from pgclinic.model.advise import AdviceProof, AdviceWord, IndexAdvice
from pgclinic.report.kinds import ADVICE, advice_page
from pgclinic.report.markdown import report_markdown
from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.advice.view import advice_answer


def reported(advice: IndexAdvice) -> ReportedAdvice:
    return ReportedAdvice(run_info(), advice, "runs/advise-shop")


def nothing(**changes: object) -> IndexAdvice:
    return an_advice(word=AdviceWord.NONE, indexes=(), drops=(), steps=(), proof=None, **changes)


def test_what_blocks_leave_of_the_server_time_is_drawn() -> None:
    proven = advice_answer(reported(an_advice(proof=AdviceProof(ratio=0.54, low=0.5, high=0.6, blocks=8))))
    assert (proven.left, proven.left_words) == ("54.0%", "54 %")
    single = advice_answer(reported(an_advice(proof=None)))
    assert single.left == f"{100 * (1 - an_advice().saved_share):.1f}%"


def test_nothing_is_run_where_nothing_is_advised() -> None:
    for advice in (nothing(), an_advice(word=AdviceWord.CONTRADICTED)):
        answer = advice_answer(reported(advice))
        assert (answer.hero.todo.commands, answer.left) == ((), "")


def test_the_page_has_the_statements_and_their_undo() -> None:
    advice = an_advice()
    page = re.sub(r"<[^>]+>", "", advice_page(reported(advice)))
    for index in advice.indexes:
        assert index.undo in page
        assert all(statement in page for statement in index.create)
    assert all(drop.drop in page for drop in advice.drops)


def test_markdown_begins_with_the_answer() -> None:
    text = report_markdown(ADVICE, reported(an_advice()))
    assert text.startswith("### ✓ indexes advised: Indexes for shop\n\n1 index saves 46 %")
    assert "    create index concurrently" in text


def test_candidates_that_nobody_measured_are_not_called_useless() -> None:
    answer = advice_answer(reported(nothing(measured=0)))
    assert answer.hero.sentence.startswith("None of 12 candidates was measured: the budget of")
