"""How statements grow, from what was measured at several sizes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.growth import STATEMENTS, TO, at_sizes, measured_statements
from pgclinic.tune.grow.laws import (
    MeasuredStatement,
    PageReads,
    grown_statements,
    plan_changes,
    times,
    workload_growth,
)


def test_each_statement_has_its_exponent_and_its_share() -> None:
    found = {one.query_id: one for one in grown_statements(measured_statements(), TO, 1000.0)}
    lookup, scan, update = found[1], found[2], found[3]
    assert lookup.buffers.exponent.value == pytest.approx(0.0, abs=1e-9)
    assert lookup.time.at_to.value == pytest.approx(1.0, abs=1e-6)
    assert scan.buffers.exponent.value == pytest.approx(1.0)
    assert scan.buffers.at_to.low < TO < scan.buffers.at_to.high
    assert 0 < update.buffers.exponent.value < 0.2
    assert update.time_share == pytest.approx(0.09)
    # 300 ms that become 300 * 10 * 2/3, as the parallel plan is faster: of that, and 600 and 90 that do not grow.
    assert scan.time.at_to.value == pytest.approx(20 / 3, rel=0.01)
    assert scan.share_at_to == pytest.approx(2000 / 2690, rel=0.01)
    assert scan.server_time.value == pytest.approx(200 / 3, rel=0.01)
    assert [one.query_id for one in grown_statements(measured_statements(), TO, 1000.0)] == [2, 1, 3]


def test_a_plan_that_changes_is_named_and_the_law_is_that_behind_it() -> None:
    scan = measured_statements()[1]
    (change,) = plan_changes(scan.measured)
    assert (change.before_size, change.size) == (2.0, 4.0)
    assert change.after.startswith("Gather")
    (grown,) = grown_statements([scan], TO, 300.0)
    assert grown.time.sizes == (4.0, 8.0)
    assert not grown.time.is_bent
    assert grown.time.is_extrapolated


def test_a_plan_of_the_largest_size_alone_bends_the_law_there() -> None:
    """At 8x it takes a tenth: the forecast goes on from there."""
    measured = at_sizes(
        lambda size: "a" if size < 8 else "b", lambda size: 100 * size, lambda size: size if size < 8 else 0.8
    )
    (grown,) = grown_statements([MeasuredStatement(STATEMENTS[0], measured)], TO, 600.0)
    assert grown.time.is_bent
    assert grown.time.sizes == (1.0, 2.0, 4.0, 8.0)
    assert grown.time.at_to.low < 0.8 < grown.time.at_to.high
    straight = MeasuredStatement(STATEMENTS[0], at_sizes(lambda _: "a", lambda size: 100 * size, lambda size: size))
    (exact,) = grown_statements([straight], TO, 600.0)
    assert grown.time.exponent.high - grown.time.exponent.low > exact.time.exponent.high - exact.time.exponent.low


def test_a_target_within_the_twins_is_not_extrapolated() -> None:
    (grown,) = grown_statements([measured_statements()[0]], 8.0, 600.0)
    assert not grown.time.is_extrapolated


def test_one_size_alone_says_nothing() -> None:
    one = measured_statements()[0]
    assert grown_statements([MeasuredStatement(one.counted, one.measured[:1])], TO, 600.0) == ()
    assert workload_growth(()) is None


def test_the_workload_is_the_sum_and_errors_add_as_variances() -> None:
    statements = grown_statements(measured_statements(), TO, 1000.0)
    whole = workload_growth(statements)
    assert whole is not None
    now = sum(one.total_ms for one in statements)
    assert whole.value == pytest.approx(sum(one.total_ms * one.time.at_to.value for one in statements) / now)
    widest = max(one.total_ms * (one.time.at_to.high - one.time.at_to.value) for one in statements) / now
    summed = sum(one.total_ms * (one.time.at_to.high - one.time.at_to.value) for one in statements) / now
    assert widest <= whole.high - whole.value <= summed
    assert times(whole, 10.0).value == pytest.approx(10 * whole.value)


def test_what_visits_no_buffer_has_a_law_too() -> None:
    measured = at_sizes(lambda _: "Result", lambda _: 0.0, lambda _: 0.0)
    (grown,) = grown_statements([MeasuredStatement(replace(STATEMENTS[0], query_id=7), measured)], TO, 1.0)
    assert grown.buffers.exponent.value == pytest.approx(0.0, abs=1e-9)


def test_beyond_the_largest_twin_a_b_tree_may_have_one_more_level() -> None:
    lookup = measured_statements()[0]
    scan = MeasuredStatement(STATEMENTS[0], at_sizes(lambda _: "Seq Scan x", lambda _: 24.0, lambda _: 0.06))
    for to, ratio in ((8.0, 1.0), (9.0, 4 / 3)):
        (indexed,), (plain,) = grown_statements([lookup], to, 600.0), grown_statements([scan], to, 600.0)
        assert indexed.buffers.at_to.high == pytest.approx(ratio * plain.buffers.at_to.high)
        assert indexed.time.at_to.high == plain.time.at_to.high


def test_a_time_that_grew_as_pages_left_the_caches_may_grow_as_buffers_do_from_there_on() -> None:
    """Each call visits 4 buffers at all sizes; up to 8x its time grows by the square root of the size."""
    measured = at_sizes(lambda _: "Index Scan", lambda _: 4.0, lambda size: 0.01 * size**0.5)
    (grown,) = grown_statements([MeasuredStatement(STATEMENTS[0], measured)], 64.0, 600.0)
    assert grown.time.at_to.value == pytest.approx(8.0, rel=0.01)
    # As at 8x, within the noise of two measured times.
    assert 0.8 * 8**0.5 < grown.time.at_to.low < 8**0.5


def test_pages_that_no_longer_fit_widen_the_time_upwards() -> None:
    scan = MeasuredStatement(STATEMENTS[0], at_sizes(lambda _: "Seq Scan", lambda size: 100 * size, lambda size: size))
    (warm,) = grown_statements([scan], 16.0, 600.0)
    (cold,) = grown_statements([scan], 16.0, 600.0, PageReads(share=0.5, ms=0.002))
    assert (cold.time.at_to.low, cold.time.at_to.value) == (warm.time.at_to.low, warm.time.at_to.value)
    # Half of 1,600 pages, 2 us each, where a call takes 1 ms now.
    assert cold.time.at_to.high == pytest.approx(warm.time.at_to.high + 1.6, rel=0.02)
    (within,) = grown_statements([scan], 8.0, 600.0, PageReads(share=0.5, ms=0.002))
    assert within.time == grown_statements([scan], 8.0, 600.0)[0].time
