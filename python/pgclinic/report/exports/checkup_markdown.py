"""A checkup as Markdown, for a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.finding import Finding, Severity, Treatment
from pgclinic.report.markdown import plain_markdown
from pgclinic.report.sections.causes.text import all_explained, numbers
from pgclinic.report.sections.changes.text import change_groups
from pgclinic.report.words.facts import evidence_words, utc_words
from pgclinic.report.words.findings import (
    HEALTH_WORDS,
    costs,
    explained_words,
    headline,
    pathologies_words,
    proof_words,
    severity_counts,
    treatment_lines,
    treatment_words,
    unchecked_reasons,
)

_MARKS = {Severity.CRITICAL: "✗", Severity.WARNING: "!", Severity.NOTICE: "·"}
#: More rows of evidence are in the report.
_EVIDENCE_SHOWN = 8


def checkup_markdown(checkup: Checkup, changes: Changes | None = None, *, report: str | None = None) -> str:
    """The verdict, each cause with its treatment, then notices in a list; ``report`` names the whole report."""
    numbered = numbers(checkup)
    shown = [cause for cause in checkup.causes if cause.severity is not Severity.NOTICE]
    notices = [cause for cause in checkup.causes if cause.severity is Severity.NOTICE]
    lines = [*_head(checkup)]
    if changes is not None:
        lines += ["", *_changes(changes)]
    for one in shown:
        lines += ["", *_finding(checkup, one, numbered[one.key])]
    if notices:
        lines += ["", "#### Notices", ""]
        lines += [
            f"- {numbered[notice.key]} {plain_markdown(_with_costs(notice))} (`{notice.pathology}`)"
            for notice in notices
        ]
    lines += ["", *_looked_for(checkup, report)]
    return "\n".join(lines) + "\n"


def _head(checkup: Checkup) -> Iterator[str]:
    when = utc_words(checkup.taken_epoch_s)
    yield f"### {HEALTH_WORDS[checkup.health]}: {severity_counts(checkup)}"
    yield ""
    yield plain_markdown(f"{checkup.database} at {checkup.server}, PostgreSQL {checkup.version}, {when}.")
    explained = explained_words(checkup)
    if explained is not None:
        yield plain_markdown(f"{explained[:1].upper()}{explained[1:]}.")


def _changes(changes: Changes) -> Iterator[str]:
    when = utc_words(changes.since_epoch_s)
    yield f"#### Since {when}"
    yield ""
    for label, found in change_groups(changes):
        for words in found:
            yield f"- **{label}** {plain_markdown(words)}"
    yield f"- **unchanged** {changes.same}"


def _finding(checkup: Checkup, one: Finding, number: int) -> Iterator[str]:
    yield f"#### {_MARKS[one.severity]} {number}. {plain_markdown(headline(one))}"
    yield ""
    yield f"**{one.severity.value}**, {one.confidence.value}, `{one.pathology}`. {plain_markdown(one.mechanism)}"
    yield ""
    for evidence in one.evidence[:_EVIDENCE_SHOWN]:
        yield f"- {plain_markdown(evidence_words(evidence))}"
    if len(one.evidence) > _EVIDENCE_SHOWN:
        yield f"- and {len(one.evidence) - _EVIDENCE_SHOWN} more"
    if costs(one):
        yield f"- **costs** {plain_markdown('; '.join(costs(one)))}"
    for symptom in all_explained(checkup, one):
        yield f"- **explains** {plain_markdown(_with_costs(symptom))}"
    for treatment in one.treatments:
        yield ""
        yield from _treatment(treatment)
    if not one.treatments and one.no_proof is not None:
        yield ""
        yield f"**treat** none: {plain_markdown(one.no_proof)}"
    for proof in one.proofs:
        yield ""
        yield f"**proof** {plain_markdown(proof_words(one, proof))}"
    for reference in one.references:
        yield ""
        yield f"<{reference}>"


def _treatment(treatment: Treatment) -> Iterator[str]:
    label = "prevent" if treatment.prevents else "treat"
    yield f"**{label}** {plain_markdown(treatment_words(treatment))}"
    lines = treatment_lines(treatment)
    if lines:
        yield ""
        # An indented block needs no fence that a statement could contain.
        yield from (f"    {line}" for text in lines for line in text.splitlines())


def _looked_for(checkup: Checkup, report: str | None) -> Iterator[str]:
    yield "<details><summary>What was looked for</summary>"
    yield ""
    yield f"- looked for {pathologies_words(checkup.pathologies)}"
    for reason, names in unchecked_reasons(checkup).items():
        yield f"- not: {plain_markdown(reason)}: {plain_markdown(', '.join(names))}"
    yield ""
    if report is not None:
        yield f"Report: `{report}`"
        yield ""
    yield "</details>"


def _with_costs(one: Finding) -> str:
    return "; ".join([headline(one), *costs(one)])
