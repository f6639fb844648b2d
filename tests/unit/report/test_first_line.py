"""The first line of a checkup: what to do, and what it was shown to give, in the figure that the proof has."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.checkups import DEAD_ROWS, FULL_PAGES, SICK, SNAPSHOT
from fixtures.page_text import without_spans
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Cure, CureStep, Proof
from pgclinic.model.plan_proof import PlanProof, PlanWord
from pgclinic.report.kinds import checkup_page
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.sections.findings.text import checkup_text
from pgclinic.report.words.checkup_lines import (
    best_proof,
    first_answer,
    first_line,
    part_left,
    proof_lines,
    short_proof,
)

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
        (BY_TIME, "server time falls to 4 %, 95 % CI 3.0 % to 5.0 % (proven on a twin)"),
        (BY_RATE, "4.00x throughput, 95 % CI 3.00 to 5.00 (proven on a twin)"),
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
    assert line.endswith(": server time falls to 4 %, 95 % CI 3.0 % to 5.0 % (proven on a twin)")
    assert line.count(";") >= 1


def test_plans_and_blocks_have_a_line_each() -> None:
    finding = with_proof(BY_TIME).findings[0]
    by_plans, by_blocks, *_ = proof_lines(finding, BY_TIME)
    assert by_plans.startswith("cured by plans: ")
    assert by_blocks.startswith("faster by blocks: server time falls to 4 %, 95 % CI 3.0 % to 5.0 %")
    (alone,) = proof_lines(finding, BY_PLANS)
    assert alone.startswith("cured by plans: ")


def test_the_page_begins_with_what_to_run_and_what_it_gives() -> None:
    page = checkup_page(ReportedCheckup(with_proof(BY_TIME), SNAPSHOT, folder="runs/x"))
    hero = page[page.index('class="verdict') : page.index('class="facts"')]
    assert "server time falls to 4 %, 95 % CI 3.0 % to 5.0 % (proven on a twin)" in hero
    assert "select pg_terminate_backend(4711);" in without_spans(hero)
    assert 'style="width: 4.0%"' in hero
    assert "pgclinic treat runs/x 1 -o treatment.sql" in hero
    unproven = checkup_page(ReportedCheckup(with_proof(replace(BY_TIME, word=None, ratio=None, plans=None)), SNAPSHOT))
    hero = unproven[unproven.index('class="verdict') : unproven.index('class="facts"')]
    assert "not proven yet" in hero
    assert "width:" not in hero and "pgclinic treat" not in hero


def test_what_is_left_is_known_by_server_time_or_by_plans() -> None:
    assert (part_left(BY_TIME), part_left(BY_PLANS), part_left(BY_RATE)) == (0.04, 0.02, None)
    assert short_proof(BY_TIME) == "cured by plans; faster by blocks: server time falls to 4 %, 95 % CI 3.0 % to 5.0 %"
    assert short_proof(Proof(treatment=0, word=None, reason="no time")) == "no verdict: no time"
    starved = Proof(treatment=0, word=None, reason="starved cpu")
    assert short_proof(starved) == "no verdict: other programs used most of the CPU"


def test_a_page_with_all_cures_has_every_statement_to_run() -> None:
    treated = [finding for finding in SICK.findings if finding.treatments and finding.treatments[0].sql][:2]
    steps = tuple(CureStep(finding=finding.key, treatment=0) for finding in treated)
    checkup = replace(with_proof(BY_RATE), cure=Cure(steps=steps, proof=BY_TIME))
    answer = first_answer(checkup)
    assert answer is not None and [finding.key for finding, _ in answer.steps] == [one.key for one in treated]
    page = checkup_page(ReportedCheckup(checkup, SNAPSHOT, folder="runs/x"))
    hero = page[page.index('class="verdict') : page.index('class="facts"')]
    assert "treat runs/x --all" in hero
    assert hero.count(";\n") + hero.count(";</code>") >= len(treated)


@pytest.mark.parametrize("full", [False, True])
def test_what_it_says_to_do_stands_below_as_statements(full: bool) -> None:
    """A notice takes a line, and what another finding explains one word there: not if the first line names them."""
    notice, explained = FULL_PAGES, DEAD_ROWS
    steps = tuple(CureStep(finding=one.key, treatment=0) for one in (notice, explained))
    cured = tuple(replace(one, proofs=(BY_PLANS,)) for one in (notice, explained))
    others = tuple(finding for finding in SICK.findings if finding.key not in (notice.key, explained.key))
    checkup = replace(SICK, findings=(*others, *cured), cure=Cure(steps=steps, proof=BY_TIME))
    assert ", and 1 other finding. Preload the library (work_mem); vacuum the table" in first_line(checkup)
    text = checkup_text(checkup, full=full)
    assert 'vacuum public."odd ""name"' in text
    assert "alter system set shared_preload_libraries to " in text
    assert "-- then restart the server" in text
    # Without it they are in the page alone.
    without = checkup_text(replace(checkup, cure=None, findings=(*others, notice, explained)), full=False)
    assert 'vacuum public."odd ""name"' not in without
    assert "shared_preload_libraries = " not in without
