"""The answer of a comparison in the place of a claim's verdict on the page."""

from __future__ import annotations

import shlex
from dataclasses import replace

from pgclinic.model.compare import Comparison
from pgclinic.model.run import RunInfo
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.sections.answer.view import ClaimView
from pgclinic.report.sections.side_by_side.text import resolution, sentence, why_invalid
from pgclinic.report.words.reasons import sentences
from pgclinic.report.words.verdicts import capitalised

#: Mark and style of each word; the styles are those of verdicts.
_MARKS = {
    CompareWord.FASTER: ("▲", "replicated"),
    CompareWord.SLOWER: ("▼", "contradicted"),
    CompareWord.NO_DIFFERENCE: ("=", "no-effect"),
    CompareWord.INCONCLUSIVE: ("?", "inconclusive"),
    CompareWord.INVALID: ("!", "invalid"),
}


def compare_view(view: ClaimView, comparison: Comparison) -> ClaimView:
    """The view of the open question, with the comparison's word, sentence and reasoning; nothing was published."""
    mark, kind = _MARKS[comparison.word]
    detects = resolution(comparison)
    return replace(
        view,
        kind=kind,
        mark=mark,
        word=comparison.word.value,
        sentence=f"{sentence(comparison)}." + (f" {capitalised(detects)}." if detects is not None else ""),
        reason=why_invalid(comparison) if comparison.word is CompareWord.INVALID else None,
        published="",
        how=sentences(comparison.reasons),
    )


def repeat_comparison(run: RunInfo, folder: str) -> tuple[tuple[str, str], ...]:
    """What to type, and what it does. Addresses have lost their passwords."""
    again = shlex.join([*run.command, *(() if "--seed" in run.command else ("--seed", str(run.seed)))])
    return (
        (again, "run the same trials in the same order on this machine"),
        (shlex.join(["pgclinic", "study", "judge", folder]), "judge these trials again, without a server"),
    )
