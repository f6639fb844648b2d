"""Proofs by blocks of all findings share one level: of those upheld at most one in twenty is expected to be false."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.model.finding import Finding, Proof
from pgclinic.stats.e_values import false_discoveries_held

#: Of all proofs that are upheld: how many may be of treatments that do nothing.
ALPHA = 0.05


def with_shared_level(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same findings; each proof that has blocks says whether it is upheld among all of them (e-BH).

    A single one has its interval, and needs no more. All cures together are a question of their own, on fresh blocks.
    """
    tried = [proof for finding in findings for proof in finding.proofs if proof.log_e_value is not None]
    if len(tried) < 2:
        return tuple(findings)
    held = dict(
        zip(map(id, tried), false_discoveries_held([proof.log_e_value or 0.0 for proof in tried], ALPHA), strict=True)
    )

    def weighed(proof: Proof) -> Proof:
        if proof.log_e_value is None:
            return proof
        return replace(proof, upheld_together=held[id(proof)], together=len(tried))

    return tuple(replace(finding, proofs=tuple(map(weighed, finding.proofs))) for finding in findings)
