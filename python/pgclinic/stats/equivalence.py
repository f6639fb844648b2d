"""Equivalence: evidence that there is no effect worth the name, at any number of looks.

Two one-sided tests (Schuirmann 1987), made always valid: the whole confidence sequence must lie inside the zone. A
true mean on an edge or beyond it would have to escape the sequence at that look, so the test errs with at most
``alpha``. The usual 1 - 2 alpha interval is not used: it rests on the two sides sharing the error evenly, which no
theorem grants a sequence of looks at skewed values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.stats.blocks_needed import blocks_still_needed, deciding_half_width
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.e_values import log_e_value
from pgclinic.stats.summary import mean, standard_deviation

#: The zone of no effect, as log ratios.
ZONE = (-NULL_EFFECT, NULL_EFFECT)


def equivalent(values: Sequence[float], zone: tuple[float, float] = ZONE, alpha: float = 0.05) -> bool:
    """Whether the mean is shown to lie inside ``zone``."""
    low, high = always_valid_interval(values, alpha)
    return zone[0] < low and high < zone[1]


def equivalence_log_e_value(values: Sequence[float], zone: tuple[float, float] = ZONE) -> float:
    """Natural log of the e-value against "the mean lies on an edge of the zone or beyond it"."""
    return log_e_value(values, ((-math.inf, zone[0]), (zone[1], math.inf)))


def blocks_to_equivalence(values: Sequence[float], zone: tuple[float, float] = ZONE, alpha: float = 0.05) -> int | None:
    """How many more blocks would show it, if mean and spread stay; None where the mean lies outside or on an edge."""
    centre = mean(values)
    if not zone[0] < centre < zone[1]:
        return None
    return blocks_still_needed(len(values), standard_deviation(values), deciding_half_width(centre, zone), alpha)
