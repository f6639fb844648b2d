"""What findings claim once plans on the twin have measured it: the time that their best treatment saves.

A statement that was not tried there keeps what was estimated of it. The weights are the original's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.explain import health_of, in_order_of_rank
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.time_shares import of_statements
from pgclinic.checkup.workload import COSTLY_SESSIONS, COSTLY_SHARE, sessions_busy_with, workload
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import CostKind, Finding, Severity, ShareBasis, TimeClaim
from pgclinic.model.plan_proof import PlanProof, StatementByPlan

#: A cause that saves less of a statement does not explain what is wrong with it.
_EXPLAINS_MIN = 0.05


@dataclass(frozen=True)
class Measured:
    """Proofs by plans on a twin with ``scale`` times the rows: ``best`` of each finding's best treatment by its key,
    ``together`` of all cures."""

    best: Mapping[str, PlanProof] = field(default_factory=dict)
    together: PlanProof | None = None
    scale: float = 1.0


def with_measured(
    findings: Iterable[Finding], measured: Measured, known: Mapping[str, Pathology], case: Case
) -> tuple[Finding, ...]:
    """The same findings with what was measured of theirs."""
    return tuple(
        _measured(finding, _parts_of_claim(finding, finding.claim, measured, case), case)
        if finding.key in measured.best and finding.claim is not None and _is_shown(finding, known)
        else finding
        for finding in findings
    )


def refuted_links(findings: Sequence[Finding], proofs: Mapping[str, PlanProof]) -> frozenset[tuple[str, str]]:
    """Pairs of a cause and what it does not explain: its treatment was tried, and saves nothing of those statements."""
    measured = {finding.key: proofs[finding.key] for finding in findings if finding.time_share_by is ShareBasis.PLANS}
    return frozenset(
        (cause, finding.key)
        for cause, proof in measured.items()
        for finding in findings
        if finding.key != cause and finding.claim is not None and _saves_none_of(proof, finding.claim)
    )


def saved_together(proof: PlanProof | None) -> Mapping[int, float]:
    """The part of each statement's time that all cures together save."""
    return {key: part for key, part in _parts(proof).items() if part > 0} if proof is not None else {}


def with_claims(checkup: Checkup, measured: Checkup) -> Checkup:
    """The same checkup with what the findings of another one of the same case claim, and what they explain."""
    found = {finding.key: finding for finding in measured.findings}
    keys = {finding.key for finding in checkup.findings}
    findings = [
        _as_claimed(finding, found[finding.key], keys) if finding.key in found else finding
        for finding in checkup.findings
    ]
    return replace(
        checkup,
        health=health_of(findings),
        findings=in_order_of_rank(findings),
        explained_share=measured.explained_share,
        explained_share_by=measured.explained_share_by,
        unexplained=measured.unexplained,
    )


def _as_claimed(have: Finding, measured: Finding, keys: Set[str]) -> Finding:
    is_fresh = measured.time_share_by is ShareBasis.PLANS and have.time_share_by is not ShareBasis.PLANS
    return replace(
        have,
        severity=measured.severity,
        cost=measured.cost,
        claim=measured.claim,
        time_share=measured.time_share,
        time_share_by=measured.time_share_by,
        estimated_share=have.time_share if is_fresh else have.estimated_share,
        explained_by=tuple(key for key in measured.explained_by if key in keys),
    )


def _is_shown(finding: Finding, known: Mapping[str, Pathology]) -> bool:
    pathology = known.get(finding.pathology)
    is_of_statements = finding.claim is not None and finding.claim.is_of_statements
    return pathology is not None and pathology.shown_by_plans and is_of_statements


def _parts_of_claim(finding: Finding, claim: TimeClaim, measured: Measured, case: Case) -> Mapping[int, float]:
    """What is saved of each statement. On a twin with fewer rows a scan is cheaper than on the original: what was
    estimated counts there, as far as the buffers that are left allow."""
    proof, estimated = measured.best[finding.key], claim.by_statement
    parts = dict(_parts(proof))
    if measured.scale < 1.0:
        visited = {work.query_id: work.buffers_per_call for work in workload(case)}
        for statement in proof.statements:
            part = parts.get(statement.query_id, 0.0)
            if part > 0 and statement.query_id in estimated:
                most = 1.0 - max(statement.buffers_after or 0.0, 1.0) / max(visited.get(statement.query_id, 0.0), 1.0)
                parts[statement.query_id] = max(part, min(estimated[statement.query_id], most))
    return {**{key: part for key, part in estimated.items() if key not in parts}, **parts}


def _measured(finding: Finding, parts: Mapping[int, float], case: Case) -> Finding:
    share = max(0.0, sum(case.statement_share(key) * part for key, part in parts.items()))
    claim = _claim(case, parts, share)
    severity = _severity(finding, parts, share, case)
    return replace(finding, claim=claim, time_share=share, time_share_by=ShareBasis.PLANS, severity=severity)


def _severity(finding: Finding, parts: Mapping[int, float], share: float, case: Case) -> Severity:
    """Of what costs time, by the time that its cure has saved on the twin: an estimate may be wrong either way."""
    if finding.cost is None or finding.cost.kind is not CostKind.TIME_SHARE or finding.severity is Severity.CRITICAL:
        return finding.severity
    if share < COSTLY_SHARE:
        return Severity.NOTICE
    busy = sum(sessions_busy_with(case, (key,)) * part for key, part in parts.items())
    return Severity.WARNING if busy >= COSTLY_SESSIONS else finding.severity


def _claim(case: Case, parts: Mapping[int, float], share: float) -> TimeClaim:
    """Of the statements that gain, as much as is gained when others have lost."""
    gaining = {key: min(part, 1.0) for key, part in parts.items() if part > 0}
    gained = sum(case.statement_share(key) * part for key, part in gaining.items())
    scale = min(1.0, share / gained) if gained else 0.0
    return of_statements({key: part * scale for key, part in gaining.items()})


def _parts(proof: PlanProof) -> Mapping[int, float]:
    """The part of each statement's time that is saved, below 0 where it takes longer; none of what has no counts."""
    parts = {statement.query_id: part for statement in proof.statements if (part := _part(statement)) is not None}
    return {**dict.fromkeys(proof.unchanged, 0.0), **parts}


def _part(one: StatementByPlan) -> float | None:
    """By time where it was measured: a page that a scan filters takes as long as tens of pages of an index."""
    if one.buffers is None or one.buffers_after is None:
        return None
    by_buffers = max(one.buffers_after, 1.0) / max(one.buffers, 1.0)
    return 1.0 - (by_buffers if one.time_ratio is None else one.time_ratio)


def _saves_none_of(proof: PlanProof, claim: TimeClaim) -> bool:
    parts = _parts(proof)
    return bool(claim.query_ids) and all(parts.get(key, 1.0) < _EXPLAINS_MIN for key in claim.query_ids)
