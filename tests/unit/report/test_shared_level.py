"""Proofs by blocks of several findings share one level, and say so where they are not upheld."""

from __future__ import annotations

import math
import random

import pytest
from msgspec.structs import replace

from fixtures.checkups import HELD
from pgclinic.checkup.prove.shared_level import with_shared_level
from pgclinic.judge.evidence_beyond import log_evidence_beyond
from pgclinic.model.finding import Finding, Proof
from pgclinic.report.words.checkup_lines import doubt_lines
from pgclinic.report.words.findings import proof_answer, together_words
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.counterbalanced import block_mean

ZONE = (math.exp(-NULL_EFFECT), math.exp(NULL_EFFECT))


def finding(*log_e_values: float | None) -> Finding:
    proofs = (
        Proof(treatment=number, word="faster", ratio=0.5, low=0.4, high=0.6, on="twin", log_e_value=log_e_value)
        for number, log_e_value in enumerate(log_e_values)
    )
    return replace(HELD, proofs=tuple(proofs))


def upheld(*findings: Finding) -> list[bool | None]:
    return [proof.upheld_together for one in with_shared_level(findings) for proof in one.proofs]


def test_a_proof_alone_has_its_interval() -> None:
    assert upheld(finding(0.5)) == [None]
    assert upheld(finding(None), finding(0.5)) == [None, None]


def test_several_are_held_to_one_level() -> None:
    enough_for_one, enough_for_ten = math.log(25.0), math.log(250.0)
    assert upheld(*[finding(enough_for_one)] * 1, *[finding(0.0)] * 9) == [False] * 10
    assert upheld(finding(enough_for_ten), *[finding(0.0)] * 9) == [True] + [False] * 9
    assert upheld(finding(None, enough_for_ten), finding(0.0)) == [None, True, False]


def test_a_proof_that_is_not_upheld_says_so() -> None:
    (one, other) = with_shared_level([finding(math.log(1000.0)), finding(0.0)])
    assert together_words(one.proofs[0]) is None
    words = "Several proofs: not upheld among the 2 by blocks at a false discovery rate of 5 %"
    assert together_words(other.proofs[0]) == words
    assert f"doubt: {words}" in list(doubt_lines(other.proofs[0]))
    assert words in proof_answer(other.proofs[0])
    undecided = replace(other.proofs[0], word="inconclusive")
    assert together_words(undecided) is None


def test_of_many_treatments_that_do_nothing_hardly_any_is_upheld() -> None:
    """Ten proofs of five blocks at 10 % noise, in 300 checkups."""
    draw = random.Random(5)
    checkups = [
        [finding(log_evidence_beyond(block_mean([draw.gauss(0.0, 0.1) for _ in range(5)]), ZONE)) for _ in range(10)]
        for _ in range(300)
    ]
    assert sum(True in upheld(*findings) for findings in checkups) <= 15


@pytest.mark.parametrize("proofs", [2, 5])
def test_a_cure_that_everybody_can_see_is_upheld(proofs: int) -> None:
    draw = random.Random(6)
    blocks = block_mean([math.log(0.3) + draw.gauss(0.0, 0.1) for _ in range(5)])
    assert upheld(finding(log_evidence_beyond(blocks, ZONE)), *[finding(0.0)] * (proofs - 1))[0]
