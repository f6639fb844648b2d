"""Runs as Markdown: the sections of a report, and a comparison for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from markupsafe import Markup

from pgclinic.model.compare import Comparison
from pgclinic.model.threshold import ThresholdState
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.parts.visible import visible
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.section import Section
from pgclinic.report.sections.answer.asked import asked_words
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.side_by_side.text import resolution, sentence, table_heads, table_rows, threshold_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.migration import lock_lines
from pgclinic.report.words.reasons import sentences
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.verdicts import capitalised

if TYPE_CHECKING:
    from jinja2 import Environment

R = TypeVar("R")

_MARKS = {
    CompareWord.FASTER: "▲",
    CompareWord.SLOWER: "▼",
    CompareWord.NO_DIFFERENCE: "=",
    CompareWord.INCONCLUSIVE: "?",
    CompareWord.INVALID: "!",
}
_STATES = {ThresholdState.CROSSED: "✗", ThresholdState.KEPT: "✓", ThresholdState.UNDECIDED: "?"}


def markdown(one: ReportedStudy, comparison: Comparison, *, report: str) -> str:
    """Heading, what was asked, what to do, table, thresholds and doubts; the reasoning is folded.

    ``report`` names the whole report.
    """
    lines = [
        f"### {_MARKS[comparison.word]} {plain_markdown(f'{comparison.word.value}: {sentence(comparison)}')}",
        "",
        *_first_lines(one, comparison),
        f"- **a** {plain_markdown(comparison.a.about)}",
        f"- **b** {plain_markdown(comparison.b.about)}",
    ]
    if comparison.server_version is not None:
        lines.append(f"- PostgreSQL {plain_markdown(comparison.server_version)}")
    heads, rows = table_heads(comparison), table_rows(comparison)
    if rows:
        lines += ["", _line(heads), "|---|" + "---:|" * (len(heads) - 1), *(_line(row) for row in rows)]
    if comparison.thresholds:
        lines += [
            "",
            *(f"- {_STATES[seen.state]} {plain_markdown(threshold_words(seen))}" for seen in comparison.thresholds),
        ]
    if comparison.migration is not None:
        lines += ["", *(f"- **locks** {plain_markdown(line)}" for line in lock_lines(comparison.migration))]
    if comparison.doubts:
        words = [doubt_words(doubt) for doubt in comparison.doubts]
        lines += ["", *(f"> **doubt** {plain_markdown(word.text)} ({plain_markdown(word.advice)})" for word in words)]
    detects = resolution(comparison)
    lines += ["", "<details><summary>How the answer was reached</summary>", ""]
    lines += [f"{number}. {plain_markdown(step)}" for number, step in enumerate(sentences(comparison.reasons), start=1)]
    lines += [
        "",
        *([f"{plain_markdown(capitalised(detects))}.", ""] if detects else []),
        f"Report: `{report}`",
        "",
        "</details>",
    ]
    return visible("\n".join(lines) + "\n")


def _first_lines(one: ReportedStudy, comparison: Comparison) -> Iterator[str]:
    """What to do, with its commands, and what was compared."""
    todo = study_next(one)
    yield f"**Next** {plain_markdown(capitalised(todo.words))}."
    yield ""
    if todo.commands:
        yield from (_indented(todo.text), "")
    terms = term_words(sentence(comparison), todo.words)
    if terms:
        yield from (" ".join(f"{plain_markdown(capitalised(words))}." for words in terms), "")
    yield f"- **compared** {plain_markdown(asked_words(one))}"


def report_markdown(sections: Sequence[Section[R]], run: R) -> str:
    """The report of ``run`` as Markdown: those of its sections that have a page of it, in their order."""
    parts = []
    for section in sections:
        view = section.view(run) if _has_markdown(section.name) else None
        if view is not None:
            parts.append(_environment().get_template(f"sections/{section.name}/page.md.j2").render(view=view))
    return visible(re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n")


@cache
def _has_markdown(section: str) -> bool:
    return (resources.files("pgclinic.report") / "sections" / section / "page.md.j2").is_file()


@cache
def _environment() -> Environment:
    """Templates in which every text is shown as it is, whatever it has of Markdown's own marks."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pgclinic.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(plain_markdown(str(value))),
    )
    made.filters["indented"] = _indented
    made.filters["capitalised"] = capitalised
    return made


def _indented(text: str) -> Markup:
    """An indented block needs no fence that a text could contain."""
    return Markup("\n".join(f"    {line}" for line in text.strip("\n").splitlines()))


def text_markdown(title: str, text: str) -> str:
    """What the terminal shows of a run, as it stands there, below a heading."""
    fence = "`" * max(3, max((len(found) for found in re.findall("`+", text)), default=0) + 1)
    return visible(f"### {plain_markdown(title)}\n\n{fence}text\n{text.rstrip()}\n{fence}\n")


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(plain_markdown(cell) for cell in cells)} |"


def plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in one line: settings are full of underscores and stars."""
    return re.sub(r"([\\`*_\[\]<>|#~&@])", r"\\\1", " ".join(text.split()))
