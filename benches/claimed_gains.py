"""What findings say that their cures save, beside what the proofs measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Confidence, Finding, Proof

#: A claim and a measurement agree within this factor.
AGREES = 1.5
#: The measure of proofs by blocks that is the time of the original's statements on the server.
SERVER_TIME = "server_time"
#: What takes less of the time than this has no gain that a measurement could show.
CLAIM_MIN = 0.01


class Gain(msgspec.Struct, frozen=True):
    """Shares of the time of all statements on the server: ``claimed`` by the finding before anything was tried, and
    what its best proof saves.

    ``by_plans`` is of buffers, each statement weighted by its time, ``by_blocks`` of the time itself; None where there
    is no such proof, or where statements that the finding claims were not tried. A treatment that does harm saves less
    than nothing.
    """

    patient: str
    pathology: str
    subject: str
    confidence: str
    treatment: str
    claimed: float
    by_plans: float | None
    by_blocks: float | None

    @property
    def measured(self) -> float | None:
        """By blocks where these ran, as they count time."""
        return self.by_blocks if self.by_blocks is not None else self.by_plans

    @property
    def factor(self) -> float | None:
        """How far claim and measurement are apart, 1 and more; None where nothing was measured, or no gain at all."""
        if self.measured is None or self.measured <= 0 or self.claimed <= 0:
            return None
        return max(self.claimed / self.measured, self.measured / self.claimed)

    @property
    def agrees(self) -> bool:
        return self.factor is not None and self.factor <= AGREES


def gains_of(patient: str, checkup: Checkup) -> list[Gain]:
    """Those of findings that are certain or likely and claim a part of the time, and whose cure was tried."""
    found = []
    for finding in checkup.findings:
        if finding.confidence is Confidence.POSSIBLE or _claimed(finding) < CLAIM_MIN:
            continue
        best = _best(finding.proofs)
        if best is not None:
            found.append(_gain(patient, finding, best))
    return found


def _claimed(finding: Finding) -> float:
    """By counters: a claim that plans have measured is no claim any more."""
    return (finding.estimated_share if finding.estimated_share is not None else finding.time_share) or 0.0


def _best(proofs: Sequence[Proof]) -> Proof | None:
    """The treatment that was tried furthest: by blocks, else the one that saves most by plans."""
    measured = [proof for proof in proofs if _by_blocks(proof) is not None]
    if measured:
        return measured[0]
    planned = [proof for proof in proofs if proof.plans is not None]
    return min(planned, key=lambda one: one.plans.ratio if one.plans is not None else 1.0, default=None)


def _gain(patient: str, finding: Finding, proof: Proof) -> Gain:
    return Gain(
        patient=patient,
        pathology=finding.pathology,
        subject=finding.subject,
        confidence=finding.confidence.value,
        treatment=finding.treatments[proof.treatment].title if finding.treatments else "",
        claimed=_claimed(finding),
        by_plans=_by_plans(finding, proof),
        by_blocks=_by_blocks(proof),
    )


def _by_plans(finding: Finding, proof: Proof) -> float | None:
    """Of all statements: those that were not tried save nothing."""
    plans = proof.plans
    if plans is None:
        return None
    tried = {statement.query_id for statement in plans.statements if statement.buffers is not None} | set(
        plans.unchanged
    )
    claimed = finding.claim.by_statement if finding.claim is not None else {}
    if any(part and query_id not in tried for query_id, part in claimed.items()):
        return None
    return plans.tried_time_share * (1.0 - plans.ratio)


def _by_blocks(proof: Proof) -> float | None:
    if proof.measure != SERVER_TIME or proof.ratio is None:
        return None
    return 1.0 - proof.ratio


def gains_table(gains: Iterable[Gain]) -> str:
    """In Markdown, one line for each."""
    lines = [
        "| patient | finding | treatment | claimed | by plans | by blocks | factor |",
        "|---|---|---|---|---|---|---|",
    ]
    for gain in gains:
        factor = f"{gain.factor:.2f}" if gain.factor is not None else "no gain" if gain.measured is not None else "-"
        cells = (
            *(gain.patient, f"{gain.pathology} ({gain.confidence}): {gain.subject}", gain.treatment),
            *(_percent(share) for share in (gain.claimed, gain.by_plans, gain.by_blocks)),
            factor if gain.agrees or gain.measured is None else f"**{factor}**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def gains_goal(gains: Sequence[Gain]) -> str:
    measured = [gain for gain in gains if gain.measured is not None]
    agree = sum(one.agrees for one in measured)
    return (
        f"claimed and measured gain agree within a factor of {AGREES:g}: {agree} of {len(measured)} findings that are "
        f"certain or likely, claim {CLAIM_MIN:.0%} of the time or more, and were tried (goal: all)"
    )


def _percent(share: float | None) -> str:
    return f"{100 * share:.1f} %" if share is not None else "-"
