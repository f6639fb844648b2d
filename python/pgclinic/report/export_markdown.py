"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re

from pgclinic.model.compare import CompareWord, Comparison, ThresholdState
from pgclinic.report.compare_text import HEAD, resolution, sentence, table_rows, threshold_words

_MARKS = {
    CompareWord.FASTER: "▲",
    CompareWord.SLOWER: "▼",
    CompareWord.NO_DIFFERENCE: "=",
    CompareWord.INCONCLUSIVE: "?",
    CompareWord.INVALID: "!",
}
_STATES = {ThresholdState.CROSSED: "✗", ThresholdState.KEPT: "✓", ThresholdState.UNDECIDED: "?"}


def markdown(comparison: Comparison, *, report: str) -> str:
    """Heading, table, thresholds and doubts; the reasoning is folded away. ``report`` names the whole report."""
    lines = [
        f"### {_MARKS[comparison.word]} {_plain(comparison.word.value)}: {_plain(sentence(comparison))}",
        "",
        f"- **a** {_plain(comparison.a.about)}",
        f"- **b** {_plain(comparison.b.about)}",
    ]
    if comparison.server_version is not None:
        lines.append(f"- PostgreSQL {_plain(comparison.server_version)}")
    rows = table_rows(comparison.measures)
    if rows:
        lines += ["", _line(HEAD), "|---|" + "---:|" * (len(HEAD) - 1), *(_line(row) for row in rows)]
    if comparison.thresholds:
        lines += ["", *(f"- {_STATES[seen.state]} {_plain(threshold_words(seen))}" for seen in comparison.thresholds)]
    if comparison.doubts:
        lines += ["", *(f"> **doubt** {_plain(doubt.text)} ({_plain(doubt.advice)})" for doubt in comparison.doubts)]
    told = resolution(comparison)
    lines += ["", "<details><summary>How this was found</summary>", ""]
    lines += [f"{number}. {_plain(step)}" for number, step in enumerate(comparison.how, start=1)]
    lines += ["", *([f"{_plain(told)}.", ""] if told else []), f"Report: `{report}`", "", "</details>"]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line: settings are full of underscores and stars."""
    return re.sub(r"([\\`*_\[\]<>|#~&@])", r"\\\1", " ".join(text.split()))
