"""The first screen that most kinds of runs have: the question, the answer, what to do next, what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.sections.next.step import NextStep


@dataclass(frozen=True)
class Hero:
    """``colour`` and ``mark`` are those of a verdict, ``terms`` explain words of the sentence, ``facts`` are labels and
    words."""

    title: str
    colour: str
    mark: str
    word: str
    sentence: str
    todo: NextStep
    terms: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
