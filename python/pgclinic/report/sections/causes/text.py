"""Which finding explains which: as a tree for the terminal, and in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Severity
from pgclinic.report.words.findings import headline

_COLOURS = {Severity.CRITICAL: "#a82a10", Severity.WARNING: "#7a5400", Severity.NOTICE: "#59616b"}


def numbers(checkup: Checkup) -> Mapping[str, int]:
    """The number that every screen gives a finding, by its key."""
    return {one.key: number for number, one in enumerate(checkup.findings, start=1)}


def explained(checkup: Checkup, cause: Finding) -> tuple[Finding, ...]:
    """What a finding causes, directly."""
    return tuple(finding for finding in checkup.findings if cause.key in finding.explained_by)


def all_explained(checkup: Checkup, cause: Finding) -> tuple[Finding, ...]:
    """What a finding causes, and what that causes, each once and nearest first."""
    found: dict[str, Finding] = {}
    waiting = [*explained(checkup, cause)]
    while waiting:
        one = waiting.pop(0)
        if one.key not in found and one.key != cause.key:
            found[one.key] = one
            waiting += explained(checkup, one)
    return tuple(found.values())


def graph_text(checkup: Checkup) -> str:
    """A line for each finding, below what causes it. One with several causes stands below each of them."""
    if not checkup.findings:
        return "no findings"
    numbered = numbers(checkup)
    return "\n".join(line for cause in checkup.causes for line in _branch(checkup, cause, numbered, ""))


def _branch(checkup: Checkup, one: Finding, numbered: Mapping[str, int], indent: str) -> Iterator[str]:
    arrow = f"{indent}-> " if indent else ""
    yield f"{arrow}{numbered[one.key]}  {one.severity.value}  {one.pathology}: {' '.join(one.subject.split())}"
    for symptom in explained(checkup, one):
        yield from _branch(checkup, symptom, numbered, f"{indent}   ")


def graph_dot(checkup: Checkup) -> str:
    """The same for Graphviz: ``dot -Tsvg``."""
    numbered = numbers(checkup)
    lines = ["digraph checkup {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for finding in checkup.findings:
        label = _quoted(f"{numbered[finding.key]}  {finding.pathology}\n{headline(finding)}")
        lines.append(f'  f{numbered[finding.key]} [label={label}, color="{_COLOURS[finding.severity]}"];')
    lines += [
        f"  f{numbered[cause]} -> f{numbered[finding.key]};"
        for finding in checkup.findings
        for cause in _known(finding.explained_by, numbered)
    ]
    return "\n".join([*lines, "}"])


def _known(keys: Sequence[str], numbered: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(key for key in keys if key in numbered)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
