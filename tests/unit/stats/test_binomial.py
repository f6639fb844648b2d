"""Exact limits of a share, against published ones."""

from __future__ import annotations

import pytest

from pgclinic.stats.binomial import share_limits


@pytest.mark.parametrize(
    ("events", "trials", "limits"),
    # None of ten: 1 - 0.025^(1/10). The others are those of R's binom.test.
    [(0, 10, (0.0, 0.30850)), (1, 6, (0.00421, 0.64123)), (5, 10, (0.18709, 0.81291)), (10, 10, (0.69150, 1.0))],
)
def test_limits_are_those_of_clopper_and_pearson(events: int, trials: int, limits: tuple[float, float]) -> None:
    assert share_limits(events, trials) == pytest.approx(limits, abs=1e-5)


@pytest.mark.parametrize(("events", "trials"), [(1, 0), (0, 0), (3, 2), (-1, 2)])
def test_what_is_no_share_is_refused(events: int, trials: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        share_limits(events, trials)
