"""What is said of a claim whose region the interval excludes: exit code, sentence, and the margins beside the words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import judge, judged_plan
from fixtures.records import blocks_of, global_counters
from fixtures.tool import tool
from pgclinic.cli.study_end import worst_exit_code
from pgclinic.model.study import Direction, Expected, Mechanism, Published
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.verdicts import plain_sentence, stated_figure

STUDY = global_counters()
CLAIM = STUDY.claims[0]
REFUTED = (0.98, 1.06, 1.02, 1.04, 1.05)
HOLDS = (0.60, 0.61, 0.59, 0.605, 0.595)
OPEN = (0.3, 1.6, 0.9, 1.3, 0.7)


@pytest.mark.parametrize(("ratios", "code"), [(HOLDS, 0), (REFUTED, 3), (OPEN, 4)])
def test_a_refuted_claim_is_an_answer_with_a_code_of_its_own(ratios: tuple[float, ...], code: int) -> None:
    assert worst_exit_code([judge(STUDY, blocks_of(STUDY, ratios))]) == code


def test_a_refuted_claim_outweighs_an_open_one() -> None:
    verdicts = [judge(STUDY, blocks_of(STUDY, ratios)) for ratios in (OPEN, REFUTED)]
    assert worst_exit_code(verdicts) == 3


def test_no_word_is_without_a_code() -> None:
    from pgclinic.cli.study_end import EXIT_CODES

    done = {VerdictWord.REPLICATED, VerdictWord.CONFIRMED, VerdictWord.REPLICATED_IN_DIRECTION}
    assert set(EXIT_CODES) == {word.value for word in VerdictWord if word not in done}


def test_the_sentence_says_that_the_result_is_not_shown_and_asks_for_no_blocks() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, REFUTED)).headline
    assert verdict.word is VerdictWord.NOT_REPLICATED
    assert verdict.blocks_needed is None
    assert plain_sentence(CLAIM, verdict).startswith("This machine does not show the published result:")
    assert not verdict.upheld_together


@pytest.mark.parametrize(
    ("direction", "region", "words"),
    [
        (Direction.NOT_LOWER, (0.8, None), "expected not lower (margin 0.80x)"),
        (Direction.NOT_HIGHER, None, "expected not higher (margin 1.05x)"),
        (Direction.EQUAL, (0.67, 1.5), "expected no difference (margin 0.67x to 1.50x)"),
        (Direction.EQUAL, None, "expected no difference"),
        (Direction.LOWER, None, "expected lower"),
    ],
)
def test_a_margin_stands_beside_the_word(
    direction: Direction, region: tuple[float, float | None] | None, words: str
) -> None:
    claim = replace(CLAIM, published=None, expected=Expected(direction, "r"), region=region, published_windows=None)
    assert stated_figure(claim) == words


def test_a_kept_run_is_judged_by_the_claims_of_today() -> None:
    plan = judged_plan(STUDY)
    later = replace(CLAIM, published=Published(text="lower", direction=Direction.LOWER))
    elsewhere = replace(later, name="elsewhere", arm="unknown")
    unread = replace(later, name="unread", mechanisms=(Mechanism("never_recorded", 2.0, "x"),))
    arms = {**STUDY.arms, "unknown": STUDY.arms["free"]}
    today = tool("write-claims-table").with_claims_of(
        plan, replace(STUDY, arms=arms, claims=(later, elsewhere, unread))
    )
    assert [claim.name for claim in today.study.claims] == [CLAIM.name]
    assert today.study.claims[0].published_ratio is None
    assert (today.arms, today.study.arms) == (plan.arms, plan.study.arms)
