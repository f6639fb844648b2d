"""Statements that a treatment writes anew: what running them on a twin gave, or why they are not written."""

from __future__ import annotations

from pgclinic.model.finding import Treatment
from pgclinic.model.rewrite import OpenBecause, Rewrite, RewriteCheck, RewriteWord

_UNCHECKED = "run checkup --prove: it writes the statement, and checks on a twin that it gives the same rows"
_OPEN = {
    OpenBecause.VALUES: "no values are known for the original",
    OpenBecause.ONE_PAGE: "the original has no second page there",
    OpenBecause.ROWS: "the original has too many rows to compare",
    OpenBecause.REFUSED: "the original fails there",
    OpenBecause.TEXT: "the original runs there in another form",
    OpenBecause.BUDGET: "the budget ended before",
    OpenBecause.NO_TWIN: "there is no twin",
}


def rewrite_words(treatment: Treatment) -> str | None:
    """The same rows as the original in 4 of 4 draws on the twin; None where nothing is written anew."""
    rewrite = treatment.rewrite
    if rewrite is None:
        return None
    check = rewrite.check
    if check is None:
        return _UNCHECKED
    if check.word is RewriteWord.OPEN or rewrite.statement is None:
        return f"the statement is not written, as a twin could not check it: {_why_open(check)}"
    return "; ".join(
        (_keys(rewrite), f"gives the {check.word.value} as the original {_draws(check)}", *_buffers(check))
    )


def is_checked(treatment: Treatment) -> bool:
    """Whether it writes a statement anew that gave the rows of the original."""
    return bool(rewritten_lines(treatment))


def rewritten_lines(treatment: Treatment) -> tuple[str, ...]:
    """The new statement, where it was checked."""
    rewrite = treatment.rewrite
    return (rewrite.statement,) if rewrite is not None and rewrite.statement is not None else ()


def _keys(rewrite: Rewrite) -> str:
    """of the last row shown $3 is credit, $4 is id"""
    places = (f"${rewrite.first_parameter + number} is {key}" for number, key in enumerate(rewrite.keys))
    return f"of the last row shown {', '.join(places)}"


def _draws(check: RewriteCheck) -> str:
    return f"in {check.same} of {check.draws} {'draw' if check.draws == 1 else 'draws'} on the twin"


def _buffers(check: RewriteCheck) -> tuple[str, ...]:
    if check.buffers is None or check.buffers_after is None:
        return ()
    read = f"{check.buffers:,.0f} → {check.buffers_after:,.0f} buffers per call"
    # What sorts all rows for the first page sorts them for every page.
    return (
        (read,) if check.buffers_after < check.buffers else (f"{read}: it needs an index in this order to read less",)
    )


def _why_open(check: RewriteCheck) -> str:
    words = _OPEN[check.because] if check.because is not None else "it says nothing"
    return f"{words}: {' '.join(check.detail.split())}" if check.detail else words
