"""The first screen of an advice: its word, what the indexes save, the statements that create them."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.advise import AdviceWord
from pgclinic.report.parts.hero import Hero
from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.advice.text import (
    advice_sentence,
    basis_rows,
)
from pgclinic.report.sections.next.twins import advice_next
from pgclinic.report.words.figures import percent
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.verdicts import capitalised

_COLOURS = {
    AdviceWord.ADVISED: ("replicated", "✓"),
    AdviceWord.CONTRADICTED: ("contradicted", "✗"),
    AdviceWord.NONE: ("no-effect", "="),
}


@dataclass(frozen=True)
class AdviceAnswer:
    """``left`` is what stays of the server time, as a width, empty where nothing is saved."""

    hero: Hero
    left: str
    left_words: str


def advice_answer(one: ReportedAdvice) -> AdviceAnswer:
    advice = one.advice
    colour, mark = _COLOURS[advice.word]
    proven = advice.proof.ratio if advice.proof is not None and advice.proof.measure == "server_time" else None
    left = proven if proven is not None else 1.0 - advice.saved_share
    is_advised = advice.word is AdviceWord.ADVISED
    sentence = advice_sentence(advice)
    return AdviceAnswer(
        hero=Hero(
            title=f"Indexes for {advice.database}",
            colour=colour,
            mark=mark,
            word=advice.word.value,
            sentence=f"{capitalised(sentence)}.",
            todo=advice_next(one),
            terms=term_words(sentence),
            facts=(
                ("Server", f"PostgreSQL {advice.version}"),
                *((capitalised(name), words) for name, words in basis_rows(advice)),
            ),
        ),
        left=f"{max(0.4, min(1.0, left) * 100):.1f}%" if is_advised else "",
        left_words=percent(left),
    )
