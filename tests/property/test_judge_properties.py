"""What must hold for every run, whatever its figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.reached import assert_reached
from fixtures.records import blocks_of, global_counters, printed
from pgclinic.judge.regions import MAY_CHANGE, Bounds, Ground, outside, settled, word_for
from pgclinic.judge.verdict import decided
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.model.verdict_word import VerdictWord

STUDY = global_counters()
SWAPPED = replace(
    STUDY,
    claims=(replace(STUDY.claims[0], arm="free", control="held", published=printed(1 / 0.603)),),
)


def around(centres: list[float], spreads: list[float]) -> st.SearchStrategy[list[float]]:
    """Four to twelve ratios about one centre."""
    return st.builds(
        lambda centre, spread, offs: [centre * math.exp(spread * off) for off in offs],
        st.sampled_from(centres),
        st.sampled_from(spreads),
        st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=12),
    )


CLOSE = [0.0, 0.001, 0.005]
#: Ratios that wander anywhere end inconclusive nearly always; those close to one centre get the word of that place.
block_ratios = st.one_of(
    around([0.45, 0.5, 0.6, 0.7], CLOSE),
    around([0.1, 0.25, 0.85, 0.9], CLOSE),
    around([0.98, 1.0, 1.01], CLOSE),
    around([1.2, 3.0], CLOSE),
    around([0.3, 0.6, 0.94, 1.05], [0.02, 0.1, 0.4]),
    around([0.94, 1.05], [0.01]),
    st.lists(st.floats(0.05, 5.0), min_size=0, max_size=12),
)
#: Intervals as wide as they like, and narrow ones that lie in one cell.
edges = st.floats(0.01, 100.0)
bounds = st.one_of(
    st.tuples(edges, edges).map(sorted),
    st.tuples(st.floats(0.1, 5.0), st.floats(1.0, 1.2)).map(lambda drawn: [drawn[0], drawn[0] * drawn[1]]),
)


def run(ratios: list[float], tps: float = 1e6) -> tuple[TrialRecord, ...]:
    # A high level, so that rounding to whole transactions does not show.
    return blocks_of(STUDY, ratios, control_tps=tps)


def words(verdict: Verdict) -> tuple[VerdictWord, str | None]:
    return verdict.headline.word, verdict.headline.qualifier


def test_the_examples_reach_every_word() -> None:
    other = (VerdictWord.INVALID, VerdictWord.CONFIRMED, VerdictWord.NOT_CONFIRMED)
    words_of = {word for word in VerdictWord if word not in other}
    assert_reached(block_ratios, lambda ratios: judge(STUDY, run(ratios)).headline.word, words_of, least=2)
    assert_reached(block_ratios, lambda ratios: decided(judge(STUDY, run(ratios))), (True, False))
    ground = Ground(region=(0.4, 0.8), null_zone=(1 / 1.05, 1.05), direction=-1)
    assert_reached(bounds, lambda drawn: settled((drawn[0], drawn[1]), ground), (True, False))
    own = st.tuples(parts, parts).map(lambda ends: placed(ground, ends)[0])
    assert_reached(st.one_of(bounds.map(tuple), own), lambda drawn: word_for(drawn, ground), words_of, least=1)


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
    assert claim.reasons
    assert (claim.word is VerdictWord.REPLICATED_IN_DIRECTION) or claim.qualifier is None
    assert not (decided(verdict) and claim.word in MAY_CHANGE)
    if claim.blocks_needed is not None:
        assert claim.word is VerdictWord.INCONCLUSIVE
        assert claim.blocks_needed >= 1


@given(bounds, st.sampled_from([-1, 1]))
def test_word_and_stop_rule_agree(drawn: list[float], direction: int) -> None:
    region = (0.4, 0.8) if direction < 0 else (1.25, 2.5)
    ground = Ground(region=region, null_zone=(1 / 1.05, 1.05), direction=direction)
    interval = (drawn[0], drawn[1])
    word = word_for(interval, ground)
    if outside(interval, region):
        assert word is not VerdictWord.REPLICATED
    if settled(interval, ground):
        # Any narrower interval inside a settled one says the same.
        middle = math.sqrt(interval[0] * interval[1])
        assert word_for((middle, middle), ground) is word


MARGIN = (1 / 1.05, 1.05)
#: Regions beyond the margin on the claimed side, some of which begin at its edge, some at 0 or without an end.
grounds = st.one_of(
    st.builds(
        lambda near, far: Ground(region=(MARGIN[1] * near, MARGIN[1] * near * far), null_zone=MARGIN, direction=1),
        st.sampled_from([1.0, 1.2, 2.0]),
        st.sampled_from([1.3, 4.0, math.inf]),
    ),
    st.builds(
        lambda near, far: Ground(region=(MARGIN[0] / near / far, MARGIN[0] / near), null_zone=MARGIN, direction=-1),
        st.sampled_from([1.0, 1.2, 2.0]),
        st.sampled_from([1.3, 4.0, math.inf]),
    ),
)


def placed(ground: Ground, ends: tuple[float, float]) -> tuple[Bounds, Ground]:
    """An interval whose ends lie where ``ends`` say: whole numbers are the cells between the edges that words use."""
    region = [min(max(edge, 1e-3), 1e3) for edge in ground.region]
    edges = sorted({1e-4, *region, *MARGIN, 1e4})

    def at(end: float) -> float:
        cell, part = divmod(end * (len(edges) - 1), 1)
        low, high = edges[int(cell)], edges[int(cell) + 1]
        return low * (high / low) ** part

    first, second = sorted((at(ends[0]), at(ends[1])))
    return (first, second), ground


parts = st.integers(0, 9_999).map(lambda part: part / 10_000)
#: Most intervals have both ends somewhere and cross much, so half have theirs in the cells beside the edges.
intervals = st.one_of(
    st.builds(lambda drawn, ground: ((drawn[0], drawn[1]), ground), bounds, grounds),
    st.builds(placed, grounds, st.tuples(parts, parts)),
)


def words_by_definition(interval: Bounds, ground: Ground) -> list[VerdictWord]:
    """Each word by its own definition, with no order between them, mirrored so that the claimed side is above 1."""
    low, high = interval if ground.direction > 0 else (1 / interval[1], 1 / interval[0])
    edges = ground.region if ground.direction > 0 else tuple(1 / edge if edge else math.inf for edge in ground.region)
    start, end = min(edges), max(edges)
    in_region = start <= low and high <= end
    beyond = low > MARGIN[1]
    in_margin = MARGIN[0] <= low and high <= MARGIN[1]
    crosses = (low < MARGIN[0] <= high) or (low <= MARGIN[1] < high)
    meets = low <= end and start <= high
    return [
        word
        for word, holds in (
            (VerdictWord.REPLICATED, in_region),
            (VerdictWord.REPLICATED_IN_DIRECTION, beyond and not in_region),
            (VerdictWord.NO_EFFECT, in_margin and not in_region),
            (VerdictWord.CONTRADICTED, high < MARGIN[0]),
            (VerdictWord.NOT_REPLICATED, crosses and not meets and not in_region),
            (VerdictWord.INCONCLUSIVE, crosses and meets and not in_region),
        )
        if holds
    ]


@given(intervals)
def test_every_interval_has_exactly_one_word(drawn: tuple[Bounds, Ground]) -> None:
    interval, ground = drawn
    points = (*interval, 1 / interval[0], 1 / interval[1])
    edges = (*ground.region, *MARGIN)
    if any(math.isclose(point, edge, rel_tol=1e-12) for point in points for edge in edges):
        return  # mirroring an edge rounds it
    assert words_by_definition(interval, ground) == [word_for(interval, ground)]


@given(intervals)
def test_what_is_not_replicated_stays_refuted_by_a_narrower_interval(drawn: tuple[Bounds, Ground]) -> None:
    interval, ground = drawn
    if word_for(interval, ground) is not VerdictWord.NOT_REPLICATED:
        return
    assert not settled(interval, ground)
    low, high = interval
    for part in ((low, math.sqrt(low * high)), (math.sqrt(low * high), high)):
        assert word_for(part, ground) not in (VerdictWord.REPLICATED, VerdictWord.INCONCLUSIVE)


def test_the_definitions_are_reached() -> None:
    reached = set(VerdictWord) - {VerdictWord.INVALID, VerdictWord.CONFIRMED, VerdictWord.NOT_CONFIRMED}
    assert_reached(intervals, lambda drawn: words_by_definition(*drawn)[0], reached, least=1)
