"""No effect worth the name, shown and not merely assumed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.equivalence import blocks_to_equivalence, equivalence_log_e_value, equivalent

TIGHT = [0.001, -0.002, 0.003, -0.001, 0.002, -0.003]
WIDE = [0.06, -0.08, 0.05, -0.04, 0.07, -0.06]


def test_tight_values_about_zero_are_equivalent() -> None:
    assert equivalent(TIGHT)
    assert equivalence_log_e_value(TIGHT) >= math.log(20)


def test_absence_of_evidence_is_no_equivalence() -> None:
    assert not equivalent(WIDE)
    assert not equivalent(TIGHT[:4]), "four values bound nothing"
    assert equivalence_log_e_value(WIDE) < math.log(20)


def test_evidence_and_interval_agree() -> None:
    rng = np.random.default_rng(1)
    decided = 0
    for _ in range(200):
        values = rng.normal(0.0, 0.02, size=8).tolist()
        inside = equivalent(values)
        decided += inside
        # The interval clears an edge exactly when the evidence against that edge reaches 20.
        assert inside == (equivalence_log_e_value(values) > math.log(20))
    assert 20 < decided < 200, "both answers must have been seen"


def test_an_effect_inside_another_zone() -> None:
    slower = [value - 0.3 for value in TIGHT]
    assert not equivalent(slower)
    assert equivalent(slower, zone=(-0.35, -0.25))


@pytest.mark.parametrize("edge", [-NULL_EFFECT, NULL_EFFECT])
def test_a_true_effect_on_the_edge_is_seldom_called_none(edge: float) -> None:
    draws = np.random.default_rng(2).normal(edge, 0.02, size=(400, 20)).tolist()
    wrong = sum(any(equivalent(row[:n]) for n in range(4, 21)) for row in draws)
    assert wrong / len(draws) <= 0.05


def test_blocks_to_equivalence() -> None:
    more = blocks_to_equivalence(WIDE)
    assert more is not None
    assert more > 5
    assert blocks_to_equivalence([value + 0.2 for value in WIDE]) is None
