"""Many paired differences at one level: against Student's test, published values and simulated families."""

from __future__ import annotations

import math
import random

import pytest

from pgclinic.stats.moderated_t import digamma, holm, p_values, trigamma
from pgclinic.stats.student_t import t_interval

EULER = 0.5772156649015329


def test_the_derivatives_of_the_gamma_function_at_known_places() -> None:
    assert digamma(1.0) == pytest.approx(-EULER, abs=1e-8)
    assert digamma(0.5) == pytest.approx(-EULER - 2 * math.log(2), abs=1e-8)
    assert trigamma(1.0) == pytest.approx(math.pi**2 / 6, abs=1e-8)
    assert trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=1e-8)


def test_few_items_are_tested_by_students_t() -> None:
    values = [0.31, 0.12, 0.22, 0.41, 0.05]
    (chance,) = p_values([values])
    low, _ = t_interval(values, chance)
    assert low == pytest.approx(0.0, abs=1e-9)
    assert p_values([values, [0.1, -0.1, 0.2, 0.0, 0.1]])[0] == pytest.approx(chance)


def test_items_of_one_spread_lend_it_to_each_other_and_items_of_many_do_not() -> None:
    draw = random.Random(3)
    values = [0.31, 0.12, 0.22, 0.41, 0.05]
    alone = p_values([values])[0]
    alike = [[draw.gauss(0.0, 0.14) for _ in values] for _ in range(29)]
    unlike = [[draw.gauss(0.0, 0.14 * math.exp(draw.gauss(0, 3))) for _ in values] for _ in range(29)]
    assert p_values([values, *alike])[0] < alone / 2
    assert p_values([values, *unlike])[0] == pytest.approx(alone, rel=0.8)


def test_what_does_not_vary_is_certain_or_nothing() -> None:
    assert p_values([[0.2] * 4, [0.0] * 4]) == (0.0, 1.0)
    assert p_values([[0.2], [0.1]]) == (1.0, 1.0)
    assert p_values([]) == ()


def test_holm_steps_down_from_the_smallest() -> None:
    # The example of Holm's step: 0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2, and then none.
    assert holm([0.03, 0.01, 0.04, 0.015], 0.05) == (False, True, False, True)
    assert holm([], 0.05) == ()
