"""Several studies at a glance: how the claims stand in all, then a line each, the word first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pgclinic.model.study import Claim, Study
from pgclinic.model.verdict import ClaimVerdict, Interval, Verdict, VerdictWord
from pgclinic.report.no_answer import no_answer
from pgclinic.report.quantities import range_words, slower, told_as_factor
from pgclinic.report.wording import MARKS, claim_of, measured_words, word_in_full
from pgclinic.study.blocks import TPS
from pgclinic.study.figures import count, span, times


def verdict_table(studies: Sequence[Study], verdicts: Sequence[Verdict]) -> str:
    """A sum, and under the name of each study word, claim, what was seen, its 95 % interval, and what was published."""
    rows = [
        (study.name, [_row(claim_of(study, each), each) for each in verdict.claims])
        for study, verdict in zip(studies, verdicts, strict=True)
    ]
    together = [row for _, of_study in rows for row in of_study]
    widths = [max((len(row[column]) for row in together), default=0) for column in range(4)]
    lines = [_sum([each for verdict in verdicts for each in verdict.claims])]
    for name, of_study in rows:
        lines += ["", name]
        for row in of_study:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            lines.append(f"  {'  '.join([*cells, row[4]])}".rstrip())
    return "\n".join(lines)


def _sum(claims: Sequence[ClaimVerdict]) -> str:
    """47 claims: 30 replicated, 11 replicated in direction, 6 inconclusive."""
    counts = Counter(claim.word for claim in claims)
    parts = [f"{counts[word]} {word.value}" for word in VerdictWord if counts[word]]
    return f"{count(len(claims), 'claim')}: {', '.join(parts)}"


def _row(claim: Claim, verdict: ClaimVerdict) -> tuple[str, str, str, str, str]:
    word = f"{MARKS[verdict.word]} {word_in_full(verdict).upper()}"
    seen, ends = _seen(claim, verdict.interval)
    if verdict.word is VerdictWord.INVALID:
        # The figure is refused: the report shows it, a table of answers does not.
        seen, ends = "-", no_answer(verdict.invalid_because, verdict.mechanisms).removeprefix("No answer: ")
    return word, claim.name, seen, ends, _published(claim)


def _seen(claim: Claim, interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return "-", "no usable block"
    seen = _ratio(claim, interval.ratio, interval.high)
    if interval.low is None or interval.high is None:
        return seen, "no interval"
    ends = (interval.low, interval.high)
    return seen, range_words(ends, interval.ratio) if claim.measure == TPS else span(ends)


def _published(claim: Claim) -> str:
    if claim.published_value is not None:
        return f"of the published {measured_words(claim, claim.published_value)}"
    return f"published {_ratio(claim, claim.published_ratio)}"


def _ratio(claim: Claim, ratio: float, high: float | None = None) -> str:
    """Only what is counted by the second is slower; pages are fewer."""
    return slower(ratio) if claim.measure == TPS and told_as_factor(ratio, high) else times(ratio)
