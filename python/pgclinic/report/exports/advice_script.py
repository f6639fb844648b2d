"""The advised indexes as a script for psql: created one by one, with the undo of each; drops are comments."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.advise import IndexAdvice
from pgclinic.report.exports.treatment import comment
from pgclinic.report.parts.visible import visible
from pgclinic.report.sections.advice.text import advice_sentence, cost_words, drop_words
from pgclinic.report.words.figures import percent


def advice_script(advice: IndexAdvice) -> str:
    """Reads and writes go on while it runs; an index of a partitioned table alone locks out writes."""
    return "\n".join(_lines(advice)).rstrip("\n") + "\n"


def _lines(advice: IndexAdvice) -> Iterator[str]:
    sentence = advice_sentence(advice)
    yield from comment(f"{sentence[0].upper()}{sentence[1:]}.", "--")
    yield from comment(
        "Run it with: psql -X -f FILE, outside of a transaction. Where CREATE INDEX CONCURRENTLY fails it leaves an "
        "invalid index: drop it, then run the rest.",
        "--",
    )
    yield "\\set ON_ERROR_STOP on"
    for number, index in enumerate(advice.indexes, start=1):
        yield ""
        saved = f"{number} of {len(advice.indexes)}: saves {percent(index.saved_share)} of the server time."
        yield from comment(f"{saved} {cost_words(index)}.", "--")
        if index.definition.is_partitioned:
            yield from comment("A partitioned table takes no index concurrently: writes wait.", "--")
        yield from (f"{statement};" for statement in index.create)
        yield f"-- Undo: {_on_one_line(index.undo)};"
    if advice.drops:
        yield ""
        yield from comment("Could be dropped once the others are in use; standbys may use them too:", "--")
    for drop in advice.drops:
        yield from comment(f"{drop_words(drop)}:", "--")
        yield f"-- {_on_one_line(drop.drop)};"
        yield f"--   Undo: {_on_one_line(drop.undo)};"


def _on_one_line(statement: str) -> str:
    """What stands in a comment must not leave it."""
    return visible(" ".join(statement.split()))
