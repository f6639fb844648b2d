"""Several claims: which of them a headline may count."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, printed
from pgclinic.judge.false_discovery import standings, upheld_among
from pgclinic.model.verdict import ClaimVerdict, Interval, IntervalMethod
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.reasons import sentences

STUDY = global_counters()


def verdict_on(published: float, ratios: list[float], name: str = "claim") -> ClaimVerdict:
    claim = replace(STUDY.claims[0], name=name, published=printed(published), region=None)
    return judge(replace(STUDY, claims=(claim,)), blocks_of(STUDY, ratios, control_tps=1e6)).headline


SLOWER = [0.60, 0.62, 0.61, 0.59, 0.60, 0.63, 0.61]
EQUAL = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999]
SLIGHT = [0.970, 0.971, 0.969, 0.970, 0.972, 0.968, 0.970]
NOISY = [0.7, 1.3, 0.9, 1.1, 0.6, 1.2, 0.95]


def test_one_claim_is_upheld_where_its_interval_is_beyond_the_null_zone() -> None:
    (standing,) = standings([verdict_on(0.6, SLOWER, "it slows down")])
    assert standing.upheld
    assert standing.e_value > 20
    assert standing.claim == "it slows down"


@pytest.mark.parametrize(
    ("published", "ratios", "upheld"),
    [
        (0.6, SLOWER, True),
        (1.6, SLOWER, False),
        (1.0, SLOWER, False),
        (1.0, EQUAL, True),
        (0.6, EQUAL, False),
        (0.6, SLIGHT, False),
    ],
)
def test_evidence_is_for_what_was_claimed(published: float, ratios: list[float], *, upheld: bool) -> None:
    (standing,) = standings([verdict_on(published, ratios)])
    assert standing.upheld is upheld
    if not upheld:
        assert standing.e_value < 1


def test_what_stands_alone_may_not_stand_among_many() -> None:
    five = verdict_on(0.6, SLOWER[:5])
    assert standings([five])[0].upheld
    noise = verdict_on(0.6, NOISY)
    assert [standing.upheld for standing in standings([five, noise, noise, noise])] == [False] * 4
    seven = verdict_on(0.6, SLOWER)
    assert [standing.upheld for standing in standings([seven, noise, noise, noise])] == [True, False, False, False]


def test_an_invalid_claim_is_never_upheld_and_still_counts() -> None:
    good, invalid = verdict_on(0.6, SLOWER[:5]), replace(verdict_on(0.6, SLOWER), word=VerdictWord.INVALID)
    assert [standing.upheld for standing in standings([good, invalid])] == [False, False]
    assert standings([invalid])[0].e_value == 1.0


def test_claims_without_blocks_have_no_evidence() -> None:
    (standing,) = standings([verdict_on(0.6, [])])
    assert standing.e_value == 1.0
    assert not standing.upheld
    assert standings([]) == ()


def test_very_strong_evidence_is_still_a_number() -> None:
    (standing,) = standings([verdict_on(0.01, [0.01] * 400)])
    assert math.isfinite(standing.e_value)


def test_a_claim_is_tested_by_its_own_region_and_not_by_its_sign() -> None:
    """Surely slower, but half of the claimed region away from it: the direction is upheld, the claimed size is not."""
    weaker = verdict_on(0.3, SLOWER)
    assert weaker.word is VerdictWord.REPLICATED_IN_DIRECTION
    (by_direction,) = standings([weaker])
    assert by_direction.upheld
    (by_region,) = standings([replace(weaker, word=VerdictWord.REPLICATED)])
    assert not by_region.upheld
    assert upheld_among([weaker, verdict_on(0.6, SLOWER)], (VerdictWord.REPLICATED,)) == 1


def test_a_sweep_needs_its_order_as_well() -> None:
    falling = verdict_on(0.6, SLOWER)
    levels = [(6.0, 5.0, 4.0), (6.0, 4.0, 5.0), (5.0, 6.0, 4.0)]
    mixed = replace(
        falling,
        blocks=tuple(replace(b, values=levels[at % 3]) for at, b in enumerate(falling.blocks)),
    )
    ordered = replace(falling, blocks=tuple(replace(b, values=levels[0]) for b in falling.blocks))
    assert standings([falling])[0].e_value >= standings([ordered])[0].e_value > standings([mixed])[0].e_value


def fixed(claim: ClaimVerdict) -> ClaimVerdict:
    assert claim.interval is not None
    return replace(claim, interval=replace(claim.interval, method=IntervalMethod.FIXED_BLOCKS))


def counted(published: float, low: float | None, high: float | None) -> ClaimVerdict:
    interval = Interval(ratio=published, low=low, high=high, blocks=5, method=IntervalMethod.COUNTS)
    return replace(verdict_on(published, SLOWER), interval=interval)


def test_a_fixed_number_of_blocks_is_looked_at_once_so_four_may_do() -> None:
    looked, once = verdict_on(0.6, SLOWER[:4]), fixed(verdict_on(0.6, SLOWER[:4]))
    assert [standing.upheld for standing in standings([looked])] == [False]
    assert [standing.upheld for standing in standings([once])] == [True]
    assert not standings([fixed(verdict_on(1.6, SLOWER))])[0].upheld
    assert not standings([fixed(verdict_on(0.6, SLIGHT))])[0].upheld
    assert standings([fixed(verdict_on(1.0, EQUAL))])[0].upheld
    assert not standings([fixed(verdict_on(1.0, SLOWER))])[0].upheld


def test_exact_limits_are_a_bet_of_all_or_nothing() -> None:
    (beyond,) = standings([counted(0.1, 0.01, 0.4)])
    assert beyond.upheld
    assert beyond.e_value == pytest.approx(20.0)
    assert standings([counted(0.1, 0.01, 0.97)])[0].e_value == 0.0
    assert standings([counted(0.1, None, None)])[0].e_value == 0.0
    assert standings([counted(9.0, 4.0, 80.0)])[0].upheld
    assert not standings([counted(9.0, 2.0, 80.0)])[0].upheld, "it is sure to be faster, but not three times as fast"
    sure = verdict_on(0.6, SLOWER)
    assert [standing.upheld for standing in standings([sure, sure, counted(0.1, 0.01, 0.4)])] == [True] * 3
    assert [standing.upheld for standing in standings([counted(0.1, 0.01, 0.4), counted(0.1, 0.01, 2.0)])] == [
        False,
        False,
    ]


def test_a_study_of_several_claims_says_which_stand_together() -> None:
    claims = tuple(
        replace(STUDY.claims[0], name=name, published=printed(published), region=None)
        for name, published in (("slower", 0.6), ("faster", 1.6))
    )
    trials = blocks_of(STUDY, SLOWER, control_tps=1e6)
    verdict = judge(replace(STUDY, claims=claims), trials)
    assert [claim.upheld_together for claim in verdict.claims] == [True, False]
    assert any(
        "Among the 2 claims of this study it is upheld at a false discovery rate of 5 %" in step
        for step in sentences(verdict.claims[0].reasons)
    )
    assert sentences(verdict.claims[0].reasons)[-1].endswith("replicated.")
    assert not any("claims of this study" in step for step in sentences(verdict.claims[1].reasons)), (
        "it does not stand by itself"
    )
    alone = judge(replace(STUDY, claims=claims[:1]), trials).headline
    assert alone.upheld_together is None
    assert not any("of this study" in step for step in sentences(alone.reasons))


def test_a_claim_that_is_too_weak_among_many_is_told_so() -> None:
    claims = tuple(
        replace(STUDY.claims[0], name=f"claim {n}", published=printed(r), region=None)
        for n, r in enumerate([0.6, 1.6, 1.6])
    )
    verdict = judge(replace(STUDY, claims=claims), blocks_of(STUDY, SLOWER[:5], control_tps=1e6))
    assert verdict.headline.word is VerdictWord.REPLICATED
    assert verdict.headline.upheld_together is False
    assert any("too weak to be upheld" in step for step in sentences(verdict.headline.reasons))
