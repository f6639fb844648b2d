"""Claims that cannot fail, or carry a figure that nobody printed, are refused; old study files stay readable."""

from __future__ import annotations

import math
import re

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters
from pgclinic.errors import StudyFileError
from pgclinic.judge.regions import direction_of, region_of
from pgclinic.model.study import Bound, Claim, Direction, Expected, Published, Revision
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.sections.what_was_run.describe import describe_study
from pgclinic.study.claim_rules import check_question
from pgclinic.study.read import read_study, shipped_studies

STUDY = global_counters()
CLAIM = replace(STUDY.claims[0], published_windows=None, mechanisms=())
EXPECTED = replace(CLAIM, published=None, expected=Expected(direction=Direction.LOWER, reason="more versions"))
HELD = "published = { ratio"


def published(ratio: float | None = 0.6, **fields: object) -> Claim:
    return replace(CLAIM, published=Published(text="a table", ratio=ratio, **fields))  # type: ignore[arg-type]


def test_what_can_fail_is_taken() -> None:
    """Nothing is raised."""
    for claim in (CLAIM, EXPECTED, published(None, direction=Direction.HIGHER), published(2.0, bound=Bound.AT_LEAST)):
        check_question(claim, "s.toml")


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (replace(CLAIM, published=None), "published or expected"),
        (replace(CLAIM, expected=EXPECTED.expected), "published or expected"),
        (published(None), "a ratio or a direction"),
        (published(0.6, direction=Direction.LOWER), "a ratio or a direction"),
        (replace(CLAIM, published=Published(text=" ", ratio=0.6)), "own words"),
        (replace(EXPECTED, expected=Expected(direction=Direction.LOWER, reason="")), "needs a reason"),
        (published(0.5, bound=Bound.AT_LEAST), "includes no difference"),
        (published(1.02, bound=Bound.AT_LEAST), "includes no difference"),
        (replace(CLAIM, region=(0.4, 0.8)), "region_reason"),
        (replace(CLAIM, region_reason="why"), "without a region"),
        (replace(CLAIM, region=(0.4, 0.97), region_reason="why"), "equivalence margin"),
        (replace(CLAIM, region=(0.4, 1.5), region_reason="why"), "equivalence margin"),
        (replace(CLAIM, region=(0.7, 0.9), region_reason="why"), "does not contain the published 0.603"),
        (replace(EXPECTED, region=(0.1, 0.5), region_reason="why"), "has no region"),
        (replace(CLAIM, revisions=(Revision("yesterday", "a", "b", results_seen=True),)), "YYYY-MM-DD"),
    ],
)
def test_what_cannot_fail_is_refused(claim: Claim, words: str) -> None:
    with pytest.raises(StudyFileError, match=re.escape(words)):
        check_question(claim, "s.toml: claim c")


def test_regions_follow_from_what_is_known() -> None:
    margin = (1 / 1.05, 1.05)
    ends = {direction: region_of(replace(EXPECTED, expected=Expected(direction, "r"))) for direction in Direction}
    assert ends[Direction.LOWER] == pytest.approx((0.0, margin[0]))
    assert ends[Direction.HIGHER] == pytest.approx((margin[1], math.inf))
    assert ends[Direction.EQUAL] == pytest.approx(margin)
    assert ends[Direction.NOT_LOWER] == pytest.approx((margin[0], math.inf))
    assert ends[Direction.NOT_HIGHER] == pytest.approx((0.0, margin[1]))
    assert region_of(published(2.0, bound=Bound.AT_LEAST)) == pytest.approx((math.sqrt(2), math.inf))
    assert region_of(published(0.25, bound=Bound.AT_MOST)) == pytest.approx((0.0, 0.5))
    assert direction_of(published(None, direction=Direction.HIGHER)) == 1


@pytest.mark.parametrize(
    ("direction", "ratios", "word"),
    [
        (Direction.LOWER, (0.60, 0.61, 0.59, 0.605, 0.595), VerdictWord.CONFIRMED),
        (Direction.HIGHER, (0.60, 0.61, 0.59, 0.605, 0.595), VerdictWord.CONTRADICTED),
        (Direction.LOWER, (1.0, 1.002, 0.999, 1.001, 1.0), VerdictWord.NO_EFFECT),
        (Direction.EQUAL, (1.0, 1.002, 0.999, 1.001, 1.0), VerdictWord.CONFIRMED),
        (Direction.NOT_LOWER, (1.0, 1.002, 0.999, 1.001, 1.0), VerdictWord.CONFIRMED),
        (Direction.NOT_LOWER, (1.5, 1.6, 1.55, 1.52, 1.54), VerdictWord.CONFIRMED),
        (Direction.NOT_LOWER, (0.60, 0.61, 0.59, 0.605, 0.595), VerdictWord.CONTRADICTED),
        (Direction.LOWER, (0.6, 1.1, 0.9, 0.7, 1.2), VerdictWord.INCONCLUSIVE),
        (Direction.LOWER, (1.04, 1.05, 1.06, 1.05, 1.045), VerdictWord.NOT_CONFIRMED),
        (Direction.EQUAL, (1.04, 1.05, 1.06, 1.05, 1.045), VerdictWord.INCONCLUSIVE),
    ],
)
def test_an_expectation_is_confirmed_or_refuted(
    direction: Direction, ratios: tuple[float, ...], word: VerdictWord
) -> None:
    study = replace(STUDY, claims=(replace(EXPECTED, expected=Expected(direction, "r")),))
    headline = judge(study, blocks_of(study, ratios)).headline
    assert headline.word is word
    assert headline.expected
    assert headline.published_ratio is None


def test_no_shipped_claim_has_a_figure_that_its_source_does_not_print() -> None:
    for name in shipped_studies():
        study = read_study(name)[0]
        for claim in study.claims:
            assert (claim.published is None) != (claim.expected is None), (name, claim.name)
            if claim.published_ratio is not None:
                assert claim.published is not None
                assert re.search(r"\d", f"{claim.published.text} {claim.published.follows_from}"), (name, claim.name)
                low, high = region_of(claim)
                assert low <= claim.published_ratio <= high
            if direction_of(claim) != 0:
                low, high = region_of(claim)
                assert high <= 1 / 1.05 + 1e-9 or low >= 1.05 - 1e-9, (name, claim.name)


def test_revisions_are_shown() -> None:
    claim = replace(CLAIM, revisions=(Revision("2026-11-21", "the bar moved", "it was missed", results_seen=True),))
    text = describe_study(replace(STUDY, claims=(claim,)))
    assert "2026-11-21, after results were seen: the bar moved. Why: it was missed." in " ".join(text.split())
