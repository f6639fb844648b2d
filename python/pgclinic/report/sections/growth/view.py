"""The growth of a database as a page: the answer, the picture, its tables."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.grow import GrowthForecast
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.parts.hero import Hero
from pgclinic.report.parts.pictured import NamedTable
from pgclinic.report.reported import ReportedGrowth
from pgclinic.report.sections.growth.picture import GrowthPicture, growth_picture
from pgclinic.report.sections.growth.text import (
    STATEMENT_HEADS,
    first_text,
    growth_sentence,
    growth_word,
    kept_words,
    memory_words,
    plan_words,
    relation_rows,
    statement_rows,
    target,
    time_rows,
    trust_words,
    twin_words,
    unmeasured_words,
    vacuum_words,
)
from pgclinic.report.sections.next.twins import growth_next
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.verdicts import MARKS, capitalised

_TEXT_COLUMNS = 110
_MARK = "↗"
#: Rows of a table; the rest is in grow.json.
_ROWS_MAX = 20


@dataclass(frozen=True)
class GrowthView:
    hero: Hero
    picture: GrowthPicture | None
    tables: tuple[NamedTable, ...]
    lists: tuple[tuple[str, str, tuple[str, ...]], ...]


def growth_view(one: ReportedGrowth) -> GrowthView:
    found = one.growth
    is_open = found.server_time is None
    sentence = capitalised(growth_sentence(found))
    kind = VerdictWord.INCONCLUSIVE if is_open else VerdictWord.NO_EFFECT
    return GrowthView(
        hero=Hero(
            title=f"{found.database} at {target(found)} the rows",
            colour=kind.value.replace(" ", "-"),
            mark=MARKS[kind] if is_open else _MARK,
            word=growth_word(found),
            sentence=sentence,
            todo=growth_next(one),
            terms=term_words(first_text(found)),
            facts=(("Time", capitalised("; ".join(time_rows(found)))),) * bool(found.per_call)
            + (("Server", one.run.server),),
        ),
        picture=growth_picture(found),
        tables=tuple(_tables(found)),
        lists=tuple((title, about, words) for title, about, words in _lists(found) if words),
    )


def _tables(found: GrowthForecast) -> list[NamedTable]:
    tables = []
    if found.statements:
        heads = tuple(head.format(to=target(found)) for head in STATEMENT_HEADS)
        rows = tuple((row[-1], *row[:-1]) for row in statement_rows(found.statements[:_ROWS_MAX], _TEXT_COLUMNS))
        about = (
            "Shares of the server's time now and at the target, time per call in place of 1 now, and the powers of the "
            f"size with which time and buffers of a call grow, with 95 % CI.{_rest(len(found.statements))}"
        )
        tables.append(NamedTable("Statements", about, (heads[-1], *heads[:-1]), rows))
    if found.relations:
        heads = ("Relation", "Kind", "Now", f"At {target(found)}", "Ratio")
        about = f"From the sizes of the twins, in proportion to the original's.{_rest(len(found.relations))}"
        rows = tuple(relation_rows(found.relations[:_ROWS_MAX]))
        tables.append(NamedTable("Tables and indexes", about, heads, rows, 2))
    return tables


def _rest(amount: int) -> str:
    return f" The first {_ROWS_MAX} of {amount}; grow.json has all." if amount > _ROWS_MAX else ""


def _lists(found: GrowthForecast) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        ("Plans that change", "Between two twins.", tuple(plan_words(found))),
        ("Memory", "What the plans read, whole.", tuple(memory_words(found))),
        (
            "Autovacuum",
            "From the updates and deletes of the workload; pages are pruned between two runs, so dead rows "
            "are an upper bound.",
            tuple(vacuum_words(found)),
        ),
        ("Tables that keep their rows", "They do not grow with the others.", tuple(kept_words(found.kept))),
        ("Twins", "Every size that was planned.", tuple(twin_words(one) for one in found.sizes)),
        ("Left out", "Statements that did not run on two twins.", tuple(unmeasured_words(found.unmeasured))),
        ("What this rests on", "", tuple(capitalised(words) for words in trust_words(found))),
    ]
