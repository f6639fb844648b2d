"""Where a curve bends."""

from __future__ import annotations

import pytest

from pgclinic.stats.knee import knee


@pytest.mark.parametrize(
    ("levels", "values", "expected"),
    [
        ([1, 2, 4, 8, 16], [100, 200, 400, 400, 400], 2),
        # Falling away below its chord is a bend as well.
        ([1, 2, 4], [100, 50, 100], 1),
        ([1, 10, 100], [5, 50, 500], None),
        # 4 % off the chord is noise, 6 % is not.
        ([1, 10, 100], [100, 104, 100], None),
        ([1, 10, 100], [100, 106, 100], 1),
        ([1, 2], [1, 9], None),
        ([], [], None),
    ],
)
def test_the_knee_is_the_level_farthest_from_the_chord(
    levels: list[float], values: list[float], expected: int | None
) -> None:
    assert knee(levels, values) == expected
