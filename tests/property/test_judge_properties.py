"""What must hold for every run, whatever its figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.records import blocks_of, global_counters, printed
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict, VerdictWord
from pgclinic.study.judge import decided, judge
from pgclinic.study.vocabulary import Ground, outside, settled, word_for

STUDY = global_counters()
SWAPPED = replace(
    STUDY,
    claims=(replace(STUDY.claims[0], arm="free", control="held", published=printed(1 / 0.603)),),
)
block_ratios = st.lists(st.floats(0.05, 5.0), min_size=0, max_size=12)
edges = st.floats(0.01, 100.0)


def run(ratios: list[float], tps: float = 1e6) -> tuple[TrialRecord, ...]:
    # A high level, so that rounding to whole transactions does not show.
    return blocks_of(STUDY, ratios, control_tps=tps)


def words(verdict: Verdict) -> tuple[VerdictWord, str | None]:
    return verdict.headline.word, verdict.headline.qualifier


@given(block_ratios, st.sampled_from([2, 7, 40]))
def test_a_faster_machine_gets_the_same_verdict(ratios: list[float], factor: int) -> None:
    slow, fast = judge(STUDY, run(ratios)), judge(STUDY, run(ratios, tps=1e6 * factor))
    if slow.headline.interval is not None and fast.headline.interval is not None:
        assert fast.headline.interval.ratio == pytest.approx(slow.headline.interval.ratio, rel=1e-4)
    assert words(slow) == words(fast) or near_an_edge(slow)


def near_an_edge(verdict: Verdict) -> bool:
    """Whether rounding to whole transactions can carry a bound over an edge."""
    claim = verdict.headline
    interval = claim.interval
    if interval is None or interval.low is None or interval.high is None:
        return False
    points = (interval.low, interval.high, interval.ratio)
    return any(math.isclose(p, edge, rel_tol=1e-3) for p in points for edge in (*claim.region, *claim.null_zone))


@given(block_ratios)
def test_swapping_the_arms_inverts_the_interval(ratios: list[float]) -> None:
    one = judge(STUDY, run(ratios)).headline.interval
    other = judge(SWAPPED, run(ratios)).headline.interval
    if one is None or other is None:
        assert one is other
        return
    assert other.ratio == pytest.approx(1 / one.ratio)
    if one.low is None or one.high is None:
        assert (other.low, other.high) == (None, None)
    else:
        assert (other.low, other.high) == (pytest.approx(1 / one.high), pytest.approx(1 / one.low))


@given(block_ratios)
def test_replicated_only_inside_the_region(ratios: list[float]) -> None:
    claim = judge(STUDY, run(ratios)).headline
    if claim.word is VerdictWord.REPLICATED:
        assert claim.interval is not None
        assert claim.interval.low is not None
        assert claim.interval.high is not None
        assert claim.region[0] <= claim.interval.low <= claim.interval.high <= claim.region[1]


@given(block_ratios)
def test_the_verdict_is_complete(ratios: list[float]) -> None:
    verdict = judge(STUDY, run(ratios))
    claim = verdict.headline
    assert claim.how
    assert (claim.word is VerdictWord.REPLICATED_IN_DIRECTION) or claim.qualifier is None
    assert not (decided(verdict) and claim.word is VerdictWord.INCONCLUSIVE)
    if claim.blocks_needed is not None:
        assert claim.word is VerdictWord.INCONCLUSIVE
        assert claim.blocks_needed >= 1


@given(st.tuples(edges, edges).map(sorted), st.sampled_from([-1, 1]))
def test_word_and_stop_rule_agree(bounds: list[float], direction: int) -> None:
    region = (0.4, 0.8) if direction < 0 else (1.25, 2.5)
    ground = Ground(region=region, null_zone=(1 / 1.05, 1.05), direction=direction)
    interval = (bounds[0], bounds[1])
    word = word_for(interval, ground)
    if outside(interval, region):
        assert word is not VerdictWord.REPLICATED
    if settled(interval, ground):
        # Any narrower interval inside a settled one says the same.
        middle = math.sqrt(interval[0] * interval[1])
        assert word_for((middle, middle), ground) is word
