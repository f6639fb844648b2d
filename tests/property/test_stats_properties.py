"""What must hold for every input of the pure mathematics."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgclinic.stats.blocks_needed import blocks_still_needed
from pgclinic.stats.claimed_region import NULL_EFFECT, claimed_region, direction, null_zone
from pgclinic.stats.confidence_sequence import always_valid_interval, half_width, width_factor
from pgclinic.stats.poisson import poisson_limits, rate_ratio_limits
from pgclinic.stats.power_law import SizePoint, power_law
from pgclinic.stats.student_t import quantile, t_half_width, upper_tail

effects = st.floats(-2.0, 2.0, allow_nan=False)
many = st.lists(effects, min_size=5, max_size=40)
ratios = st.floats(1e-4, 1e4)


@given(st.integers(5, 5000))
def test_width_shrinks_with_every_block(n: int) -> None:
    assert width_factor(n + 1) < width_factor(n)


@given(st.integers(5, 500), st.floats(0.001, 10))
def test_always_valid_is_wider_than_plain(n: int, deviation: float) -> None:
    assert half_width(n, deviation) > t_half_width(n, deviation)


@given(st.integers(5, 200), st.floats(0.001, 0.2))
def test_a_stricter_error_rate_is_wider(n: int, alpha: float) -> None:
    assert width_factor(n, alpha / 2) >= width_factor(n, alpha)


@given(many)
def test_swapping_the_arms_mirrors_the_interval(values: list[float]) -> None:
    low, high = always_valid_interval(values)
    assert always_valid_interval([-value for value in values]) == (pytest.approx(-high), pytest.approx(-low))


@given(many, effects)
def test_shifting_shifts_the_interval(values: list[float], shift: float) -> None:
    low, high = always_valid_interval(values)
    moved = always_valid_interval([value + shift for value in values])
    assert moved == (pytest.approx(low + shift, abs=1e-9), pytest.approx(high + shift, abs=1e-9))


@given(many)
def test_order_does_not_matter(values: list[float]) -> None:
    assert always_valid_interval(sorted(values)) == always_valid_interval(values)


@given(st.floats(0.5001, 0.9999), st.integers(1, 300))
def test_quantile_inverts_the_distribution(probability: float, freedom: int) -> None:
    assert 1 - upper_tail(quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-10)


@given(st.integers(2, 60), st.floats(0.001, 0.5), st.floats(0.01, 1.0))
def test_the_blocks_needed_suffice(n: int, deviation: float, wanted: float) -> None:
    more = blocks_still_needed(n, deviation, wanted)
    if more is not None:
        assert more >= 1
        assert half_width(n + more, deviation) <= wanted


@given(ratios)
def test_region_mirrors_when_the_arms_are_swapped(published: float) -> None:
    # On the very edge of the null zone rounding decides whether there is an effect at all.
    assume(abs(abs(math.log(published)) - NULL_EFFECT) > 1e-9)
    low, high = claimed_region(published)
    mirrored = claimed_region(1 / published)
    assert mirrored == (pytest.approx(1 / high), pytest.approx(1 / low))


@given(ratios)
def test_region_holds_the_published_ratio_and_no_part_of_the_null_zone(published: float) -> None:
    low, high = claimed_region(published)
    assert low <= published * (1 + 1e-9)
    assert published <= high * (1 + 1e-9)
    if direction(published) != 0:
        assert high <= null_zone()[0] or low >= null_zone()[1]
        assert math.log(low) * math.log(high) > 0


def _probability(events: int, mean: float) -> float:
    return math.exp(events * math.log(mean) - mean - math.lgamma(events + 1))


@given(st.integers(1, 400), st.floats(0.001, 0.3))
def test_the_limits_of_a_count_leave_half_of_alpha_on_each_side(events: int, alpha: float) -> None:
    low, high = poisson_limits(events, alpha)
    assert low < events < high
    assert sum(_probability(k, high) for k in range(events + 1)) == pytest.approx(alpha / 2, rel=1e-6)
    assert 1 - sum(_probability(k, low) for k in range(events)) == pytest.approx(alpha / 2, rel=1e-6)


@given(st.integers(0, 400))
def test_more_events_have_higher_limits(events: int) -> None:
    low, high = poisson_limits(events)
    more_low, more_high = poisson_limits(events + 1)
    assert more_low > low and more_high > high


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.1, 100), st.floats(0.1, 100))
def test_the_ratio_the_other_way_round_has_the_inverse_limits(a: int, b: int, time_a: float, time_b: float) -> None:
    low, high = rate_ratio_limits(a, time_a, b, time_b)
    assert low < high
    if a and b:
        assert low < (a / time_a) / (b / time_b) < high
    other_low, other_high = rate_ratio_limits(b, time_b, a, time_a)
    assert other_low == pytest.approx(1 / high if high else math.inf)
    assert other_high == pytest.approx(1 / low if low else math.inf)


measured = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=6)
points = st.lists(measured, min_size=2, max_size=5).map(
    lambda lists: [SizePoint(2.0**at, tuple(values)) for at, values in enumerate(lists)]
)


@given(points, st.floats(1e-3, 1e3))
def test_a_power_law_knows_no_unit(sizes: list[SizePoint], unit: float) -> None:
    """Microseconds grow as milliseconds do."""
    other = [SizePoint(point.size, tuple(value * unit for value in point.values)) for point in sizes]
    law, same = power_law(sizes), power_law(other)
    assert same.exponent.value == pytest.approx(law.exponent.value, abs=1e-6)
    assert same.exponent.high == pytest.approx(law.exponent.high, rel=1e-4, abs=1e-4)


@given(points, st.floats(1.01, 1000.0))
def test_a_forecast_lies_in_its_interval(sizes: list[SizePoint], to: float) -> None:
    law = power_law(sizes)
    growth = law.growth(to)
    assert 0 <= growth.low <= growth.value <= growth.high
    assert law.exponent.low < law.exponent.value < law.exponent.high


@given(points, st.floats(0.1, 10.0))
def test_growth_at_the_size_itself_is_none(sizes: list[SizePoint], size: float) -> None:
    assert power_law(sizes).growth(size, since=size).value == 1.0
