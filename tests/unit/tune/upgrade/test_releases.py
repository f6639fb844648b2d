"""In which release a slowdown is there."""

from __future__ import annotations

import math

from pgclinic.tune.upgrade.releases import has_slowdown


def test_a_release_has_the_slowdown_from_half_of_its_logarithm_on() -> None:
    assert has_slowdown(16.0, 16.0)
    assert has_slowdown(16.0, 4.0)
    assert not has_slowdown(16.0, 3.9)
    assert not has_slowdown(16.0, 1.0)


def test_what_is_stopped_is_slower_than_anything_and_what_does_not_run_is_not_known() -> None:
    assert has_slowdown(16.0, math.inf)
    assert not has_slowdown(16.0, None)
