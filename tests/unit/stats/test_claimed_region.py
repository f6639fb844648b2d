"""Claimed region, null zone, log ratios, blocks still needed, summaries."""

import math

import pytest

from pgclinic.stats.blocks_needed import blocks_still_needed, deciding_half_width, first_bounded
from pgclinic.stats.claimed_region import claimed_region, direction, null_zone
from pgclinic.stats.confidence_sequence import half_width
from pgclinic.stats.log_ratio import log_ratio, ratio_range
from pgclinic.stats.summary import mean, median, standard_deviation


def test_region_is_half_to_twice_the_log_effect() -> None:
    low, high = claimed_region(0.603)
    assert low == pytest.approx(0.603**2)
    assert high == pytest.approx(math.sqrt(0.603))


def test_region_of_a_gain() -> None:
    assert claimed_region(4.0) == (pytest.approx(2.0), pytest.approx(16.0))


def test_region_of_a_small_effect_leaves_the_null_zone_alone() -> None:
    low, high = claimed_region(0.93)
    assert high == pytest.approx(null_zone()[0])
    assert low == pytest.approx(0.93**2)


def test_region_of_no_difference_is_the_null_zone() -> None:
    assert claimed_region(1.0) == null_zone()
    assert claimed_region(1.04) == null_zone()


def test_region_refuses_what_is_no_ratio() -> None:
    with pytest.raises(ValueError, match="above zero"):
        claimed_region(0.0)


def test_null_zone_is_five_per_cent_and_mirrored() -> None:
    low, high = null_zone()
    assert high == pytest.approx(1.05)
    assert low * high == pytest.approx(1.0)


@pytest.mark.parametrize(("published", "expected"), [(0.6, -1), (1.8, 1), (1.0, 0), (0.97, 0), (1.06, 1)])
def test_direction(published: float, expected: int) -> None:
    assert direction(published) == expected


def test_log_ratio() -> None:
    assert log_ratio(50, 100) == pytest.approx(math.log(0.5))
    assert ratio_range(math.log(0.4), math.log(0.8)) == (pytest.approx(0.4), pytest.approx(0.8))
    with pytest.raises(ValueError, match="positive"):
        log_ratio(0, 100)


def test_first_bounded_block_is_the_fifth() -> None:
    assert first_bounded() == 5


def test_blocks_still_needed_is_the_least_that_suffices() -> None:
    more = blocks_still_needed(5, 0.1, 0.15)
    assert more is not None
    assert half_width(5 + more, 0.1) <= 0.15 < half_width(5 + more - 1, 0.1)


def test_blocks_still_needed_follows_the_square_law_for_many() -> None:
    n, wanted = 400, half_width(400, 0.1) / 2
    more = blocks_still_needed(n, 0.1, wanted)
    assert more is not None
    # A little more than the law says: the price of looking grows with the logarithm of the number of looks.
    assert 3 * n <= more <= 3.7 * n


def test_blocks_still_needed_says_when_blocks_are_no_help() -> None:
    assert blocks_still_needed(6, 0.1, 0.0) is None
    assert blocks_still_needed(6, 0.1, 1e-6) is None


def test_blocks_still_needed_without_spread() -> None:
    assert blocks_still_needed(2, 0.0, 0.1) == 3


def test_deciding_half_width_is_the_nearest_boundary() -> None:
    assert deciding_half_width(0.3, (0.1, 0.35, 2.0)) == pytest.approx(0.05)


def test_summaries() -> None:
    assert mean([1.0, 2.0, 6.0]) == 3.0
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert standard_deviation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) == pytest.approx(math.sqrt(32 / 7))
    for empty in (mean, median, standard_deviation):
        with pytest.raises(ValueError, match=r"requires|no median|two values"):
            empty([])
