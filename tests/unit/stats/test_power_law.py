"""Power laws of few sizes: exact ones are found, intervals keep their promise, a fixed part widens what lies beyond."""

from __future__ import annotations

import math
import random

import pytest

from pgclinic.stats.power_law import PowerLaw, SizePoint, common_deviation, power_law

SIZES = (1.0, 2.0, 4.0, 8.0)


def law_of(exponent: float, sizes: tuple[float, ...] = SIZES) -> PowerLaw:
    return power_law([SizePoint(size, (3 * size**exponent,) * 4) for size in sizes], common=1e-6)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.9, -0.5])
def test_an_exact_law_is_found(exponent: float) -> None:
    law = law_of(exponent)
    assert law.exponent.value == pytest.approx(exponent, abs=1e-9)
    assert law.value_at(16) == pytest.approx(3 * 16**exponent)
    growth = law.growth(10)
    assert growth.value == pytest.approx(10**exponent)
    assert growth.low < growth.value < growth.high


def test_the_order_of_the_sizes_is_nothing() -> None:
    points = [SizePoint(size, (size, 1.1 * size)) for size in SIZES]
    assert power_law(points) == power_law(points[::-1])


def simulated(
    generator: random.Random, exponent: float, deviation: float, spread: float, draws: int
) -> list[SizePoint]:
    points = []
    for size in SIZES:
        middle = size**exponent * math.exp(generator.gauss(0, deviation))
        values = tuple(middle * math.exp(generator.gauss(0, spread) - spread**2 / 2) for _ in range(draws))
        points.append(SizePoint(size, values))
    return points


@pytest.mark.parametrize(("deviation", "spread", "draws"), [(0.02, 0.05, 8), (0.05, 0.3, 16), (0.1, 0.1, 4)])
@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.9])
def test_the_interval_covers_the_truth(exponent: float, deviation: float, spread: float, draws: int) -> None:
    """Statements of a workload deviate by different amounts; 600 laws of thirty workloads."""
    generator = random.Random(7)
    covered = predicted = laws = 0
    for _ in range(30):
        workload = [
            simulated(generator, exponent, deviation * math.exp(generator.gauss(0, 0.5)), spread, draws)
            for _ in range(20)
        ]
        common = common_deviation(power_law(points) for points in workload)
        for points in workload:
            law = power_law(points, common)
            laws += 1
            covered += law.exponent.low <= exponent <= law.exponent.high
            growth = law.growth(10)
            predicted += growth.low <= 10**exponent <= growth.high
    assert covered / laws > 0.93
    assert predicted / laws > 0.93


def test_the_interval_is_worth_something() -> None:
    """A clean law of 24 draws is known to about a tenth."""
    generator = random.Random(7)
    workload = [simulated(generator, 1.0, 0.02, 0.1, 24) for _ in range(20)]
    common = common_deviation(power_law(points) for points in workload)
    widths = [law.exponent.high - law.exponent.low for law in (power_law(points, common) for points in workload)]
    assert sum(widths) / len(widths) < 0.25


def test_a_size_that_lies_apart_widens_the_interval() -> None:
    clean = [SizePoint(size, (size, size * 1.01)) for size in SIZES]
    apart = [*clean[:2], SizePoint(4.0, (9.0, 9.1)), clean[3]]
    narrow, wide = power_law(clean, 1e-4).exponent, power_law(apart, 1e-4).exponent
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)


def test_beyond_the_largest_size_the_interval_is_wider_and_knows_of_a_fixed_part() -> None:
    bent = power_law([SizePoint(size, (100 + 10 * size,) * 4) for size in SIZES], 1e-4)
    truth = (100 + 10 * 100) / 110
    assert bent.growth(100).low < truth <= bent.growth(100).high * 1.000001
    assert bent.line is not None
    within, beyond = bent.growth(8), bent.growth(9)
    assert math.log(beyond.high / beyond.low) > math.log(within.high / within.low)


def test_a_square_is_no_line() -> None:
    assert law_of(2.0).line is None


def test_two_sizes_have_a_law_with_a_wide_interval() -> None:
    law = law_of(1.0, (4.0, 8.0))
    assert law.exponent.value == pytest.approx(1.0)
    assert law.own_deviation is None
    usual = power_law([SizePoint(4, (4.0,) * 4), SizePoint(8, (8.0,) * 4)]).exponent
    assert usual.low < 0.3
    assert usual.high > 1.7


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        power_law([SizePoint(1, (1.0,)), SizePoint(1, (2.0,))])
    with pytest.raises(ValueError, match="0 or below"):
        power_law([SizePoint(1, (1.0,)), SizePoint(2, (0.0,))])


def test_few_laws_have_the_usual_deviation() -> None:
    assert common_deviation([law_of(1.0)] * 4) == pytest.approx(0.01)
    assert common_deviation([law_of(1.0)] * 5) == pytest.approx(0.0001)
