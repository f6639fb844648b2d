"""What became of the findings of an earlier checkup, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.checkup import Change, Changes
from pgclinic.model.finding import Finding
from pgclinic.report.words.facts import utc_words
from pgclinic.report.words.figures import count
from pgclinic.report.words.findings import HEALTH_WORDS, costs, headline

_LABEL_WIDTH = 11


def changes_text(changes: Changes) -> str:
    """A line for each finding that is new, worse, better or gone."""
    when = utc_words(changes.since_epoch_s)
    lines = [f"since {when}, when the verdict was {HEALTH_WORDS[changes.health_before]}"]
    for label, found in change_groups(changes):
        lines += [f"  {label if not index else '':<{_LABEL_WIDTH}}{words}" for index, words in enumerate(found)]
    lines.append(f"  {'unchanged':<{_LABEL_WIDTH}}{count(changes.same, 'finding')}")
    return "\n".join(lines)


def change_groups(changes: Changes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Label and findings in words, for each group that is not empty."""
    groups = (
        ("new", changes.new),
        ("worse", changes.worse),
        ("better", changes.better),
        ("gone", changes.gone),
        ("unknown", changes.unknown),
    )
    return tuple((label, tuple(change_words(change) for change in found)) for label, found in groups if found)


def change_words(change: Change) -> str:
    """dead-rows: public.counters; notice -> warning; 3 GB on disk -> 9 GB on disk"""
    shown = change.after or change.before
    if shown is None:
        return change.key
    return "; ".join([f"{shown.pathology}: {headline(shown)}", *_moves(change)])


def _moves(change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None or after is None:
        yield from _state(after or before)
        return
    if before.severity is not after.severity:
        yield f"{before.severity.value} -> {after.severity.value}"
    for one, other in zip(costs(before), costs(after), strict=False):
        if one != other:
            yield f"{one} -> {other}"


def _state(finding: Finding | None) -> Iterator[str]:
    if finding is not None:
        yield finding.severity.value
        yield from costs(finding)
