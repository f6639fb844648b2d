"""The first screen of a checkup: its word, what to do first, and what that gives, before and after."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Health
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.text import numbers
from pgclinic.report.sections.findings.view import with_capital
from pgclinic.report.sections.next.checkup import checkup_next
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.sections.repeat.view import treat_command
from pgclinic.report.words.checkup_lines import budget_words, first_answer, first_line, part_left
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, percent
from pgclinic.report.words.findings import HEALTH_WORDS, explained_words, severity_counts
from pgclinic.report.words.terms import term_words

#: A mark beside every word, so that colour is never the only difference.
_MARKS = {Health.OK: "✓", Health.WATCH: "=", Health.SICK: "!", Health.CRITICAL: "✗"}


@dataclass(frozen=True)
class AnswerView:
    """What was found and what a cure gives: what of the server time is left as a width, None if not known. ``checked``
    writes the treatment as a file that checks first whether the finding still holds; empty without a run folder."""

    sentence: str
    left: str | None
    left_words: str
    left_of: str
    findings: tuple[int, ...]
    checked: str


@dataclass(frozen=True)
class CureView:
    """``counts`` are the findings by severity, ``explained`` how much of the time they explain."""

    database: str
    health: str
    mark: str
    word: str
    answer: AnswerView
    todo: NextStep
    terms: tuple[str, ...]
    counts: str
    explained: str
    budget: str
    about: tuple[tuple[str, str], ...]


def cure_view(one: ReportedCheckup) -> CureView:
    checkup, todo = one.checkup, checkup_next(one.checkup)
    answer = _answer(checkup, one.folder, can_treat=todo.is_sql)
    return CureView(
        database=checkup.database,
        health=checkup.health.value,
        mark=_MARKS[checkup.health],
        word=HEALTH_WORDS[checkup.health],
        answer=answer,
        todo=todo,
        terms=term_words(answer.sentence),
        counts=severity_counts(checkup),
        explained=explained_words(checkup) or "",
        budget=budget_words(checkup) or "",
        about=_about(checkup),
    )


def _about(checkup: Checkup) -> tuple[tuple[str, str], ...]:
    observed = f"observed for {time_words(checkup.observed_s)}" if checkup.observed_s else "not observed"
    return (
        ("Server", f"PostgreSQL {checkup.version} at {checkup.server}"),
        ("Read", f"in {time_words(checkup.took_s)}, {observed}"),
        ("Statements", count(checkup.statements, "statement")),
    )


def _answer(checkup: Checkup, folder: str | None, *, can_treat: bool) -> AnswerView:
    answer = first_answer(checkup)
    findings = tuple(numbers(checkup)[finding.key] for finding, _ in answer.steps) if answer is not None else ()
    left = part_left(answer.proof) if answer is not None and answer.proof is not None else None
    by_plans = answer is not None and answer.proof is not None and answer.proof.ratio is None
    return AnswerView(
        sentence=with_capital(first_line(checkup)),
        left=f"{min(100.0, max(0.4, left * 100)):.1f}%" if left is not None else None,
        left_words=percent(left) if left is not None else "",
        left_of="buffers" if by_plans else "server time",
        findings=findings,
        checked=treat_command(folder, findings) if folder is not None and can_treat else "",
    )
