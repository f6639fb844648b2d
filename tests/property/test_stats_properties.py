"""What must hold for every input of the pure mathematics."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgclinic.stats.blocks_needed import blocks_still_needed
from pgclinic.stats.claimed_region import NULL_EFFECT, claimed_region, direction, null_zone
from pgclinic.stats.confidence_sequence import always_valid_interval, half_width, width_factor
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
