"""A checkup as one self-contained HTML file: the verdict, the causes with their evidence, what could not be seen."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.finding import Evidence, Finding, Health, Severity, Treatment
from pgclinic.model.snapshot import Snapshot
from pgclinic.report.changes_text import change_groups
from pgclinic.report.checkup_graph import all_explained, explained, numbers
from pgclinic.report.html_page import assets, content_policy, environment
from pgclinic.report.snapshot_text import gap_lines, snapshot_facts
from pgclinic.report.twin_text import TWIN_HEADS, twin_view
from pgclinic.report.words.facts import evidence_name, fact_words, place_words, time_words
from pgclinic.report.words.figures import count, percent
from pgclinic.report.words.findings import (
    HEALTH_WORDS,
    costs,
    cure_rows,
    explained_words,
    headline,
    pathologies_words,
    proof_words,
    severity_counts,
    treatment_lines,
    treatment_words,
    unchecked_reasons,
)

_STYLES = ("report.css", "checkup.css")
#: A mark beside every word, so that colour is never the only difference.
_MARKS = {Health.OK: "✓", Health.WATCH: "=", Health.SICK: "!", Health.CRITICAL: "✗"}
_SEVERITY_MARKS = {Severity.NOTICE: "=", Severity.WARNING: "!", Severity.CRITICAL: "✗"}


@dataclass(frozen=True)
class EvidenceView:
    name: str
    facts: str
    place: str


@dataclass(frozen=True)
class TreatmentView:
    """``commands`` are what to type, empty where there is nothing to run."""

    label: str
    words: str
    commands: str


@dataclass(frozen=True)
class FindingView:
    """``explains`` and ``because`` are numbers and headlines of other findings, ``bar`` a share of time in per cent."""

    number: int
    severity: str
    mark: str
    headline: str
    pathology: str
    confidence: str
    area: str
    mechanism: str
    evidence: tuple[EvidenceView, ...]
    costs: tuple[str, ...]
    bar: str | None
    explains: tuple[tuple[int, str], ...]
    because: tuple[tuple[int, str], ...]
    treatments: tuple[TreatmentView, ...]
    proofs: tuple[str, ...]
    no_proof: str | None
    references: tuple[str, ...]


def render_checkup(
    checkup: Checkup, snapshot: Snapshot, changes: Changes | None = None, folder: str | None = None
) -> str:
    """The whole page. ``folder`` is how the user would name the run folder, None where nothing is kept."""
    views = [_view(checkup, one) for one in checkup.findings]
    causes = {numbers(checkup)[one.key] for one in checkup.causes}
    return (
        environment()
        .get_template("checkup.html.j2")
        .render(
            pgclinic=checkup.pgclinic,
            database=checkup.database,
            when=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(checkup.taken_epoch_s)),
            health=checkup.health.value,
            mark=_MARKS[checkup.health],
            word=HEALTH_WORDS[checkup.health],
            counts=severity_counts(checkup.findings),
            explained=explained_words(checkup),
            cures=[words for _, words in cure_rows(checkup, numbers(checkup))],
            about=_about(checkup),
            server=snapshot_facts(snapshot),
            changes=_changes(changes),
            causes=[one for one in views if one.number in causes and one.severity != Severity.NOTICE.value],
            symptoms=[one for one in views if one.number not in causes],
            notices=[one for one in views if one.number in causes and one.severity == Severity.NOTICE.value],
            tree=_tree(checkup),
            twin=twin_view(checkup.fidelity),
            twin_heads=TWIN_HEADS,
            looked_for=pathologies_words(checkup.pathologies),
            unchecked=[(reason, ", ".join(names)) for reason, names in unchecked_reasons(checkup).items()],
            gaps=[line.strip() for line in gap_lines([one for one in checkup.gaps if not _of_version(one.problem)])],
            commands=_commands(checkup, folder),
            css=assets(_STYLES),
            policy=content_policy(),
        )
    )


def _of_version(problem: str) -> bool:
    return problem.startswith("PostgreSQL ")


def _about(checkup: Checkup) -> tuple[tuple[str, str], ...]:
    observed = f"observed for {time_words(checkup.observed_s)}" if checkup.observed_s else "not observed"
    return (
        ("Server", f"PostgreSQL {checkup.version} at {checkup.server}"),
        ("Read", f"in {time_words(checkup.took_s)}, {observed}"),
        ("Statements", count(checkup.statements, "statement")),
    )


def _changes(changes: Changes | None) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    if changes is None:
        return None
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(changes.since_epoch_s))
    rows = [(label, words) for label, found in change_groups(changes) for words in found]
    return when, (*rows, ("unchanged", count(changes.same, "finding")))


def _view(checkup: Checkup, one: Finding) -> FindingView:
    numbered = numbers(checkup)
    causes = [other for other in checkup.findings if other.key in one.explained_by]
    return FindingView(
        number=numbered[one.key],
        severity=one.severity.value,
        mark=_SEVERITY_MARKS[one.severity],
        headline=headline(one),
        pathology=one.pathology,
        confidence=one.confidence.value,
        area=one.area.value,
        mechanism=one.mechanism,
        evidence=tuple(_evidence(evidence) for evidence in one.evidence),
        costs=costs(one),
        bar=percent(one.time_share).replace(" ", "") if one.time_share else None,
        explains=_named(all_explained(checkup, one), checkup),
        because=_named(causes, checkup),
        treatments=tuple(_treatment(treatment) for treatment in one.treatments),
        proofs=tuple(proof_words(one, proof) for proof in one.proofs),
        no_proof=one.no_proof if not one.proofs else None,
        references=one.references,
    )


def _named(findings: Sequence[Finding], checkup: Checkup) -> tuple[tuple[int, str], ...]:
    numbered = numbers(checkup)
    return tuple((numbered[one.key], headline(one)) for one in findings)


def _evidence(evidence: Evidence) -> EvidenceView:
    facts = ", ".join(fact_words(one) for one in evidence.facts)
    return EvidenceView(evidence_name(evidence), facts, place_words(evidence) or "")


def _treatment(treatment: Treatment) -> TreatmentView:
    label = "Prevent" if treatment.prevents else "Treat"
    return TreatmentView(label, treatment_words(treatment), "\n".join(treatment_lines(treatment)))


def _tree(checkup: Checkup) -> tuple[tuple[int, int, str, str], ...]:
    """Depth, number, severity and headline of each finding that explains or is explained, causes first."""
    numbered = numbers(checkup)
    rows: list[tuple[int, int, str, str]] = []

    def add(one: Finding, depth: int) -> None:
        rows.append((depth, numbered[one.key], one.severity.value, headline(one)))
        for symptom in explained(checkup, one):
            add(symptom, depth + 1)

    for cause in checkup.causes:
        if explained(checkup, cause):
            add(cause, 0)
    return tuple(rows)


def _commands(checkup: Checkup, folder: str | None) -> tuple[tuple[str, str], ...]:
    if folder is None:
        return ()
    rows = [
        (shlex.join(["pgclinic", "checkup", "--from", folder]), "examine the same snapshot again, without a server")
    ]
    treatable = next((one for one in checkup.findings if one.treatments), None)
    if treatable is not None:
        number = str(numbers(checkup)[treatable.key])
        words = ["pgclinic", "treat", folder, number, "-o", "treatment.sql"]
        rows.append((shlex.join(words), f"write the treatment of finding {number} with its undo"))
    return tuple(rows)
