"""A treatment that goes takes its proofs with it, and leaves those of the others with their treatments."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.checkups import PAGED, SICK, SNAPSHOT
from pgclinic.checkup.case import Case
from pgclinic.checkup.prove.rewrites import left_open, rewrites, with_check
from pgclinic.model.finding import Applies, Proof, Treatment
from pgclinic.model.rewrite import OpenBecause, RewriteCheck, RewriteWord

OTHER = Treatment(title="create an index", applies=Applies.STATEMENT)


def test_a_dropped_treatment_moves_the_numbers_of_the_proofs_behind_it() -> None:
    paged = PAGED[0]
    proofs = tuple(Proof(treatment=number, word=word) for number, word in enumerate(("first", "gone", "last")))
    finding = replace(paged, treatments=(OTHER, *paged.treatments, OTHER), proofs=proofs, no_proof="none")
    checkup = replace(SICK, findings=(finding, PAGED[1]))
    ((found, rewrite),) = rewrites(checkup.findings)
    assert found is finding
    check = RewriteCheck(word=RewriteWord.DIFFERENT, draws=4, same=3)
    changed, untouched = with_check(checkup, Case(SNAPSHOT), finding, rewrite, check).findings
    assert [(proof.treatment, proof.word) for proof in changed.proofs] == [(0, "first"), (1, "last")]
    assert changed.treatments == (OTHER, OTHER)
    assert changed.no_proof == "none"
    assert untouched is PAGED[1]


def test_what_was_checked_before_stays_as_it_was() -> None:
    checkup = replace(SICK, findings=PAGED)
    first, *others = left_open(checkup, OpenBecause.NO_TWIN, "no room").findings
    rewrite = first.treatments[0].rewrite
    assert rewrite is not None
    assert rewrite.check == RewriteCheck(word=RewriteWord.OPEN, because=OpenBecause.NO_TWIN, detail="no room")
    assert others == list(PAGED[1:])
