"""Several studies at a glance: how the claims stand in all, then a line each, the word first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pgclinic.judge.evidence import TPS
from pgclinic.judge.false_discovery import ALPHA, upheld_among
from pgclinic.model.study import Question, Study
from pgclinic.model.verdict import ClaimVerdict, Interval, Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.figures import count, percent, span, times
from pgclinic.report.words.no_answer import no_answer
from pgclinic.report.words.quantities import range_words, slower, told_as_factor
from pgclinic.report.words.verdicts import MARKS, claim_of, stated_figure, word_in_full


def verdict_table(studies: Sequence[Study], verdicts: Sequence[Verdict]) -> str:
    """A sum, and under the name of each study word, claim, what was seen, its 95 % CI, and what was published."""
    rows = [
        (study.name, [claim_cells(claim_of(study, each), each) for each in verdict.claims])
        for study, verdict in zip(studies, verdicts, strict=True)
    ]
    together = [row for _, of_study in rows for row in of_study]
    widths = [max((len(row[column]) for row in together), default=0) for column in range(4)]
    lines = [tally([each for verdict in verdicts for each in verdict.claims])]
    for name, of_study in rows:
        lines += ["", name]
        for row in of_study:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            lines.append(f"  {'  '.join([*cells, row[4]])}".rstrip())
    return "\n".join(lines)


def tally(claims: Sequence[ClaimVerdict]) -> str:
    """Published claims and expectations apart, a line each: 16 of 18 published claims replicated, ..."""
    published = [claim for claim in claims if not claim.expected]
    expected = [claim for claim in claims if claim.expected]
    lines = [
        _tally_of_kind(
            published, "published claim", (VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION), claims
        ),
        _tally_of_kind(expected, "expectation", (VerdictWord.CONFIRMED,), claims),
    ]
    return "\n".join(line for line in lines if line)


def _tally_of_kind(
    claims: Sequence[ClaimVerdict], kind: str, holding: Sequence[VerdictWord], together: Sequence[ClaimVerdict]
) -> str:
    """The words that hold first, each with its number of all: 12 of 18 published claims replicated, 1 invalid.

    ``together`` are all claims that were tested, of whatever kind.
    """
    if not claims:
        return ""
    counts = Counter(claim.word for claim in claims)
    shown = [word for word in VerdictWord if counts[word] or word is holding[0]]
    shown.sort(key=lambda word: word not in holding)
    first, *rest = shown
    opening = f"{counts[first]} of {count(len(claims), kind)} {first.value}"
    if counts[first] and len(together) > 1:
        upheld = upheld_among(together, (first,))
        opening += f" ({upheld} of them at a false discovery rate of {percent(ALPHA)})"
    return ", ".join([opening, *(f"{counts[word]} {word.value}" for word in rest)])


def claim_cells(claim: Question, verdict: ClaimVerdict) -> tuple[str, str, str, str, str]:
    """Word, claim, what was measured, its 95 % CI, and what was published or expected."""
    word = f"{MARKS[verdict.word]} {word_in_full(verdict).upper()}"
    seen, ends = _seen(claim, verdict.interval)
    if verdict.word is VerdictWord.INVALID:
        # The figure is refused: the report shows it, a table of answers does not.
        seen, ends = "-", no_answer(verdict.invalid_because, verdict.mechanisms).removeprefix("No answer: ")
    return word, claim.name, seen, ends, _published(claim)


def _seen(claim: Question, interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return "-", "no usable block"
    seen = _ratio(claim, interval.ratio, interval.high)
    if interval.low is None or interval.high is None:
        return seen, "no interval"
    ends = (interval.low, interval.high)
    return seen, range_words(ends, interval.ratio) if claim.measure == TPS else span(ends)


def _published(claim: Question) -> str:
    return f"of the {stated_figure(claim)}" if claim.reference_value is not None else stated_figure(claim)


def _ratio(claim: Question, ratio: float, high: float | None = None) -> str:
    """Only what is counted by the second is slower; pages are fewer."""
    return slower(ratio) if claim.measure == TPS and told_as_factor(ratio, high) else times(ratio)
