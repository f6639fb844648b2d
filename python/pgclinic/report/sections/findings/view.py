"""Findings of a checkup: what shows each of them, what it costs, what cures it, and what an experiment gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgclinic.checkup.treat import usual_treatment
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Evidence, Finding, Proof, Severity, SubjectKind
from pgclinic.model.plan_proof import PlanProof
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.causes.text import all_explained, numbers
from pgclinic.report.sections.plans.view import StatementPlans, treated_plans
from pgclinic.report.words.checkup_lines import blocks_line, is_gain, is_harm, one_sentence, risk_words, side_figures
from pgclinic.report.words.facts import evidence_name, fact_words, place_words
from pgclinic.report.words.figures import percent
from pgclinic.report.words.findings import doubts_of, headline, short_costs, treatment_lines
from pgclinic.report.words.plan_proof import StatementChange, plan_proof_words, statement_changes, tried_words
from pgclinic.report.words.rewrites import rewrite_words

#: A mark beside every word, so that colour is never the only difference.
_SEVERITY_MARKS = {Severity.NOTICE: "=", Severity.WARNING: "!", Severity.CRITICAL: "✗"}


@dataclass(frozen=True)
class EvidenceRow:
    """``is_sql`` says that the name is the text of a statement."""

    name: str
    is_sql: bool
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
    plans: tuple[StatementPlans, ...]
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
    evidence: tuple[EvidenceRow, ...]
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
class FindingsView:
    id: str
    title: str
    lead: str
    findings: tuple[FindingView, ...]


def causes_found(one: ReportedCheckup) -> FindingsView | None:
    """What nothing else explains, and is more than a notice."""
    own = _views(one.checkup, lambda finding, is_cause: is_cause and finding.severity is not Severity.NOTICE)
    return FindingsView("findings", "Findings", "", own) if own else None


def symptoms_found(one: ReportedCheckup) -> FindingsView | None:
    own = _views(one.checkup, lambda _, is_cause: not is_cause)
    return FindingsView("symptoms", "Explained by the findings above", "", own) if own else None


def notices_found(one: ReportedCheckup) -> FindingsView | None:
    own = _views(one.checkup, lambda finding, is_cause: is_cause and finding.severity is Severity.NOTICE)
    return FindingsView("notices", "Notices", "What costs little now, or may cost later.", own) if own else None


def _views(checkup: Checkup, wanted: Callable[[Finding, bool], bool]) -> tuple[FindingView, ...]:
    causes = {cause.key for cause in checkup.causes}
    return tuple(_view(checkup, finding) for finding in checkup.findings if wanted(finding, finding.key in causes))


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


def _evidence(evidence: Evidence) -> EvidenceRow:
    facts = ", ".join(fact_words(fact) for fact in evidence.facts)
    # A statement that nobody has the text of has its number as its name.
    is_sql = evidence.kind is SubjectKind.STATEMENT and not evidence.name.startswith("statement ")
    name = evidence.name if is_sql else evidence_name(evidence)
    return EvidenceRow(name, is_sql, facts, place_words(evidence) or "")


def _treatment(finding: Finding, number: int) -> TreatmentView:
    treatment = finding.treatments[number]
    return TreatmentView(
        label="Prevent" if treatment.prevents else "Do",
        title=with_capital(" ".join(treatment.title.split())),
        risk=risk_words(treatment),
        commands="\n".join(treatment_lines(treatment)),
        rewrite=with_capital(rewrite_words(treatment) or ""),
        proofs=tuple(proof_view(finding, proof) for proof in finding.proofs if proof.treatment == number),
    )


def proof_view(finding: Finding | None, proof: Proof) -> ProofView:
    plans = proof.plans
    changes = tuple(statement_changes(plans)) if plans is not None else ()
    kind = "good" if is_gain(proof) else "bad" if is_harm(proof) else "open"
    return ProofView(
        kind=kind,
        mark={"good": "✓", "bad": "✗", "open": "="}[kind],
        word=plans.word.value if plans is not None else "",
        tried=_tried(plans, changes) if plans is not None else "",
        changes=changes,
        plans=treated_plans(plans),
        blocks=with_capital(blocks_line(finding, proof) or ""),
        doubts=tuple(doubts_of(proof)),
        figures="; ".join(side_figures(proof)),
    )


def _tried(plans: PlanProof, changes: Sequence[StatementChange]) -> str:
    """How much was tried; where nothing changed in one sentence with that."""
    return f"on {tried_words(plans)}" if changes else plan_proof_words(plans)


def with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]
