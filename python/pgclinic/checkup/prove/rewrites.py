"""Statements of the application's that a treatment writes anew: nobody reads one before a twin has run it.

A detector says that one can be written. Only where it gives the rows of the original it becomes part of the treatment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Treatment
from pgclinic.model.rewrite import OpenBecause, Rewrite, RewriteCheck, RewriteWord
from pgclinic.sql.keyset_paging import keyset_page


def rewrites(findings: Sequence[Finding]) -> Iterator[tuple[Finding, Rewrite]]:
    """The rewrites that have not been checked, in the order of the findings."""
    for finding in findings:
        yield from (
            (finding, treatment.rewrite)
            for treatment in finding.treatments
            if treatment.rewrite is not None and treatment.rewrite.check is None
        )


def left_open(checkup: Checkup, because: OpenBecause, detail: str = "") -> Checkup:
    """The same checkup, whose rewrites say why they have not been checked."""
    check = RewriteCheck(word=RewriteWord.OPEN, because=because, detail=detail)
    findings = tuple(
        replace(finding, treatments=tuple(_with(treatment, check) for treatment in finding.treatments))
        for finding in checkup.findings
    )
    return replace(checkup, findings=findings)


def with_check(checkup: Checkup, case: Case, finding: Finding, rewrite: Rewrite, check: RewriteCheck) -> Checkup:
    """The same checkup with the statement where it gives the same rows, and without the treatment where it does not."""
    changed = [_checked(case, one, rewrite, check) if one.key == finding.key else one for one in checkup.findings]
    return replace(checkup, findings=tuple(changed))


def _checked(case: Case, finding: Finding, rewrite: Rewrite, check: RewriteCheck) -> Finding:
    at = next(number for number, one in enumerate(finding.treatments) if one.rewrite == rewrite)
    if check.word in (RewriteWord.DIFFERENT, RewriteWord.FAILED):
        return _without(finding, at, check)
    page = keyset_page(case.texts.get(rewrite.query_id, ""), rewrite.unique)
    if check.word is RewriteWord.SAME and page is not None:
        rewrite = replace(
            rewrite,
            statement=page.statement,
            keys=tuple(key.written for key in page.keys),
            first_parameter=page.first_parameter,
        )
    treatments = list(finding.treatments)
    treatments[at] = replace(treatments[at], rewrite=replace(rewrite, check=check))
    return replace(finding, treatments=tuple(treatments))


def _without(finding: Finding, at: int, check: RewriteCheck) -> Finding:
    """Proofs are of treatments by their number."""
    kept = tuple(one for number, one in enumerate(finding.treatments) if number != at)
    proofs = tuple(
        replace(proof, treatment=proof.treatment - (proof.treatment > at))
        for proof in finding.proofs
        if proof.treatment != at
    )
    no_proof = finding.no_proof if kept else f"the treatment was dropped: {_why(check)}"
    return replace(finding, treatments=kept, proofs=proofs, no_proof=no_proof)


def _why(check: RewriteCheck) -> str:
    if check.word is RewriteWord.FAILED:
        return f"the twin refuses the statement that it needs: {check.detail}"
    other = check.draws - check.same
    return (
        f"the statement that it needs gives other rows than the original in {other} of {check.draws} draws on the twin"
    )


def _with(treatment: Treatment, check: RewriteCheck) -> Treatment:
    rewrite = treatment.rewrite
    if rewrite is None or rewrite.check is not None:
        return treatment
    return replace(treatment, rewrite=replace(rewrite, check=check))
