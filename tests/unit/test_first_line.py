"""The first line of a checkup: what to do, and what it was shown to give, in the figure that the proof has."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.checkups import SICK
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Cure, CureStep, Proof
from pgclinic.model.plan_proof import PlanProof, PlanWord
from pgclinic.report.words.checkup_lines import best_proof, first_line, proof_lines

PLANS = PlanProof(word=PlanWord.CURED, ratio=0.02, statements=(), tried=3, tried_time_share=0.95, draws=4)
BY_PLANS = Proof(treatment=0, word="cured by plans", on="a twin", plans=PLANS)
BY_TIME = replace(BY_PLANS, word="faster", blocks="faster", ratio=0.04, low=0.03, high=0.05, measure="server_time")
BY_RATE = Proof(treatment=0, word="faster", ratio=4.0, low=3.0, high=5.0, measure="tps", on="a twin")


def with_proof(proof: Proof) -> Checkup:
    first, *others = (replace(finding, proofs=()) for finding in SICK.findings)
    return replace(SICK, findings=(replace(first, proofs=(proof,)), *others))


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        (BY_PLANS, "the workload visits 2 % of its buffers (proven on a twin)"),
        (BY_TIME, "server time falls to 4 % (proven on a twin)"),
        (BY_RATE, "4.00x throughput (proven on a twin)"),
    ],
)
def test_the_figure_is_that_of_the_proof(proof: Proof, words: str) -> None:
    assert first_line(with_proof(proof)).endswith(words)


@pytest.mark.parametrize(
    "proof",
    [
        replace(BY_TIME, high=1.01),
        replace(BY_TIME, word="slower", ratio=2.0, low=1.5, high=2.5),
        replace(BY_RATE, low=0.9),
        replace(BY_PLANS, word="no gain by plans", plans=replace(PLANS, word=PlanWord.NO_GAIN, ratio=1.0)),
        Proof(treatment=0, word=None, reason="no time"),
    ],
)
def test_what_was_not_shown_to_help_is_not_promised(proof: Proof) -> None:
    assert best_proof(with_proof(proof)) is None
    assert "proven on" not in first_line(with_proof(proof))


def test_all_cures_together_come_first() -> None:
    keys = [finding.key for finding in SICK.findings if finding.treatments][:2]
    steps = tuple(CureStep(finding=key, treatment=0) for key in keys)
    checkup = replace(with_proof(BY_RATE), cure=Cure(steps=steps, proof=BY_TIME))
    line = first_line(checkup)
    assert line.endswith(": server time falls to 4 % (proven on a twin)")
    assert line.count(";") >= 1


def test_plans_and_blocks_have_a_line_each() -> None:
    finding = with_proof(BY_TIME).findings[0]
    by_plans, by_blocks, *_ = proof_lines(finding, BY_TIME)
    assert by_plans.startswith("cured by plans: ")
    assert by_blocks.startswith("faster by blocks: server time falls to 4 %, 95 % CI 0.03 to 0.05")
    (alone,) = proof_lines(finding, BY_PLANS)
    assert alone.startswith("cured by plans: ")
