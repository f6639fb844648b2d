"""After a checkup: the treatment that is proven, or its proof."""

from __future__ import annotations

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Treatment
from pgclinic.report.sections.causes.text import numbers
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.words.checkup_lines import FirstAnswer, first_answer
from pgclinic.report.words.findings import treatment_lines
from pgclinic.report.words.rewrites import is_checked


def checkup_next(checkup: Checkup) -> NextStep:
    """What the first line says to do, as lines to type."""
    answer = first_answer(checkup)
    if answer is None:
        return NextStep("nothing to do at once" if checkup.causes else "nothing to do")
    treatments = [treatment for _, treatment in answer.steps if treatment is not None]
    commands = tuple(line for treatment in treatments for line in treatment_lines(treatment))
    numbered = numbers(checkup)
    which = ", ".join(str(numbered[finding.key]) for finding, _ in answer.steps)
    named = f"finding{'s' if len(answer.steps) > 1 else ''} {which}"
    if not treatments:
        return NextStep(f"read {named}: no command treats it")
    if not commands:
        return NextStep(f"treat {named}: {' '.join(treatments[0].title.split())}")
    return NextStep(_words(answer, treatments, named), commands, is_sql=True)


def _words(answer: FirstAnswer, treatments: list[Treatment], named: str) -> str:
    if answer.proof is not None:
        return f"run the treatment of {named}: its gain is proven"
    if all(is_checked(treatment) for treatment in treatments):
        return f"run the treatment of {named}: it returns the same rows on the twin"
    return f"test the treatment of {named} with --prove before you run it: its gain is not proven yet"
