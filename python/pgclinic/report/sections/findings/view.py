"""A checkup as one self-contained HTML file: the verdict, the causes with their evidence, what could not be seen."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.checkup.treat import usual_treatment
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.finding import Evidence, Finding, Health, Proof, Severity
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.snapshot import Snapshot
from pgclinic.report.html import html_page
from pgclinic.report.sections.causes.text import all_explained, explained, numbers
from pgclinic.report.sections.changes.text import change_groups
from pgclinic.report.sections.snapshot.text import gap_lines, snapshot_facts
from pgclinic.report.sections.twin.text import TWIN_HEADS, twin_view
from pgclinic.report.words.checkup_lines import (
    blocks_line,
    budget_words,
    cured_numbers,
    first_answer,
    first_line,
    is_gain,
    is_harm,
    one_sentence,
    part_left,
    risk_words,
    side_figures,
)
from pgclinic.report.words.facts import evidence_name, fact_words, place_words, time_words, utc_words
from pgclinic.report.words.figures import count, percent
from pgclinic.report.words.findings import (
    HEALTH_WORDS,
    doubts_of,
    explained_words,
    headline,
    pathologies_words,
    severity_counts,
    short_costs,
    treatment_lines,
    unchecked_reasons,
)
from pgclinic.report.words.plan_proof import StatementChange, plan_proof_words, statement_changes, tried_words
from pgclinic.report.words.rewrites import rewrite_words

#: A mark beside every word, so that colour is never the only difference.
_MARKS = {Health.OK: "✓", Health.WATCH: "=", Health.SICK: "!", Health.CRITICAL: "✗"}
_SEVERITY_MARKS = {Severity.NOTICE: "=", Severity.WARNING: "!", Severity.CRITICAL: "✗"}


@dataclass(frozen=True)
class EvidenceView:
    name: str
    facts: str
    place: str


@dataclass(frozen=True)
class ProofView:
    """What an experiment gave. ``word`` is that of plans, ``blocks`` the line of the blocks of trials; ``kind``, which
    is good, bad or open, decides the colour beside the words."""

    kind: str
    mark: str
    word: str
    tried: str
    changes: tuple[StatementChange, ...]
    blocks: str
    doubts: tuple[str, ...]
    figures: str


@dataclass(frozen=True)
class TreatmentView:
    """``commands`` are what to type, empty where there is nothing to run; ``risk`` is lock and risk in one line.

    ``rewrite`` says what became of a statement of the application's that it writes anew; empty where it writes none.
    """

    label: str
    title: str
    risk: str
    commands: str
    rewrite: str
    proofs: tuple[ProofView, ...]


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
    why: str
    costs: tuple[str, ...]
    bar: str | None
    explains: tuple[tuple[int, str], ...]
    because: tuple[tuple[int, str], ...]
    treatment: TreatmentView | None
    others: tuple[TreatmentView, ...]
    no_proof: str | None
    references: tuple[str, ...]


@dataclass(frozen=True)
class AnswerView:
    """What to do first: ``commands`` to run, and what of the server time is left as a width, None if not known.
    ``checked`` writes them as a file that checks first whether the finding still holds; empty without a run folder."""

    sentence: str
    commands: str
    left: str | None
    left_words: str
    left_of: str
    findings: tuple[int, ...]
    checked: str


def render_checkup(
    checkup: Checkup, snapshot: Snapshot, changes: Changes | None = None, folder: str | None = None
) -> str:
    """The whole page. ``folder`` is how the user would name the run folder, None where nothing is kept."""
    views = [_view(checkup, finding) for finding in checkup.findings]
    causes = {numbers(checkup)[cause.key] for cause in checkup.causes}
    return html_page(
        "checkup",
        kind="checkup report",
        when=utc_words(checkup.taken_epoch_s),
        source="the snapshot",
        pgclinic=checkup.pgclinic,
        styles=("checkup.css",),
        database=checkup.database,
        health=checkup.health.value,
        mark=_MARKS[checkup.health],
        word=HEALTH_WORDS[checkup.health],
        answer=_answer(checkup, folder),
        counts=severity_counts(checkup),
        explained=explained_words(checkup),
        cure=_proof(None, checkup.cure.proof) if checkup.cure is not None else None,
        cure_steps=cured_numbers(checkup, numbers(checkup)),
        budget=budget_words(checkup),
        about=_about(checkup),
        server=snapshot_facts(snapshot),
        changes=_changes(changes),
        causes=[view for view in views if view.number in causes and view.severity != Severity.NOTICE.value],
        symptoms=[view for view in views if view.number not in causes],
        notices=[view for view in views if view.number in causes and view.severity == Severity.NOTICE.value],
        tree=_tree(checkup),
        twin=twin_view(checkup.fidelity),
        twin_heads=TWIN_HEADS,
        looked_for=pathologies_words(checkup.pathologies),
        unchecked=[(reason, ", ".join(names)) for reason, names in unchecked_reasons(checkup).items()],
        gaps=[line.strip() for line in gap_lines([gap for gap in checkup.gaps if gap.since is None])],
        commands=_commands(checkup, folder),
    )


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
    when = utc_words(changes.since_epoch_s)
    rows = [(label, words) for label, found in change_groups(changes) for words in found]
    return when, (*rows, ("unchanged", count(changes.same, "finding")))


def _view(checkup: Checkup, one: Finding) -> FindingView:
    numbered, shown = numbers(checkup), usual_treatment(one)
    causes = [other for other in checkup.findings if other.key in one.explained_by]
    return FindingView(
        number=numbered[one.key],
        severity=one.severity.value,
        mark=_SEVERITY_MARKS[one.severity],
        headline=headline(one),
        pathology=one.pathology,
        confidence=one.confidence.value,
        area=one.area.value,
        mechanism=one.mechanism if one_sentence(one.mechanism) != one.mechanism else "",
        why=one_sentence(one.mechanism),
        evidence=tuple(_evidence(evidence) for evidence in one.evidence),
        costs=short_costs(one),
        bar=percent(one.time_share).replace(" ", "") if one.time_share else None,
        explains=_named(all_explained(checkup, one), checkup),
        because=_named(causes, checkup),
        treatment=_treatment(one, shown) if shown is not None else None,
        others=tuple(_treatment(one, number) for number in range(len(one.treatments)) if number != shown),
        no_proof=one.no_proof if not one.proofs else None,
        references=one.references,
    )


def _named(findings: Sequence[Finding], checkup: Checkup) -> tuple[tuple[int, str], ...]:
    numbered = numbers(checkup)
    return tuple((numbered[finding.key], headline(finding)) for finding in findings)


def _evidence(evidence: Evidence) -> EvidenceView:
    facts = ", ".join(fact_words(fact) for fact in evidence.facts)
    return EvidenceView(evidence_name(evidence), facts, place_words(evidence) or "")


def _treatment(finding: Finding, number: int) -> TreatmentView:
    treatment = finding.treatments[number]
    return TreatmentView(
        label="Prevent" if treatment.prevents else "Do",
        title=_capital(" ".join(treatment.title.split())),
        risk=risk_words(treatment),
        commands="\n".join(treatment_lines(treatment)),
        rewrite=_capital(rewrite_words(treatment) or ""),
        proofs=tuple(_proof(finding, proof) for proof in finding.proofs if proof.treatment == number),
    )


def _proof(finding: Finding | None, proof: Proof) -> ProofView:
    plans = proof.plans
    changes = tuple(statement_changes(plans)) if plans is not None else ()
    kind = "good" if is_gain(proof) else "bad" if is_harm(proof) else "open"
    return ProofView(
        kind=kind,
        mark={"good": "✓", "bad": "✗", "open": "="}[kind],
        word=plans.word.value if plans is not None else "",
        tried=_tried(plans, changes) if plans is not None else "",
        changes=changes,
        blocks=_capital(blocks_line(finding, proof) or ""),
        doubts=tuple(doubts_of(proof)),
        figures="; ".join(side_figures(proof)),
    )


def _tried(plans: PlanProof, changes: Sequence[StatementChange]) -> str:
    """How much was tried; where nothing changed in one sentence with that."""
    return f"on {tried_words(plans)}" if changes else plan_proof_words(plans)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _answer(checkup: Checkup, folder: str | None) -> AnswerView:
    answer = first_answer(checkup)
    findings = tuple(numbers(checkup)[finding.key] for finding, _ in answer.steps) if answer is not None else ()
    left = part_left(answer.proof) if answer is not None and answer.proof is not None else None
    lines = [
        line
        for _, treatment in (answer.steps if answer is not None else ())
        if treatment is not None
        for line in treatment_lines(treatment)
    ]
    by_plans = answer is not None and answer.proof is not None and answer.proof.ratio is None
    return AnswerView(
        sentence=_capital(first_line(checkup)),
        commands="\n".join(lines),
        left=f"{min(100.0, max(0.4, left * 100)):.1f}%" if left is not None else None,
        left_words=percent(left) if left is not None else "",
        left_of="buffers" if by_plans else "server time",
        findings=findings,
        checked=_treat_command(folder, findings) if folder is not None and lines else "",
    )


def _treat_command(folder: str, findings: Sequence[int]) -> str:
    which = str(findings[0]) if len(findings) == 1 else "--all"
    return shlex.join(["pgclinic", "treat", folder, which, "-o", "treatment.sql"])


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
    treatable = next((finding for finding in checkup.findings if finding.treatments), None)
    if treatable is not None:
        number = numbers(checkup)[treatable.key]
        rows.append((_treat_command(folder, [number]), f"write the treatment of finding {number} with its undo"))
    return tuple(rows)
