"""Means over trials that may lack the value."""

from __future__ import annotations

import pytest

from pgclinic.samples.means import mean_by_place, mean_known


def test_a_mean_is_of_the_values_that_are_known() -> None:
    assert mean_known([1.0, None, 4.0]) == 2.5
    assert mean_known([0.0, None]) == 0.0
    assert mean_known([None, None]) is None
    assert mean_known([]) is None


def test_series_are_averaged_place_by_place() -> None:
    assert mean_by_place([(1.0, None, 2.0), (3.0, None, None)]) == (2.0, None, 2.0)
    assert mean_by_place([]) == ()
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        mean_by_place([(1.0, 2.0), (1.0,)])
