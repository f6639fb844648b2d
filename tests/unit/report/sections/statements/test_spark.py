"""Lines in cells: they stay inside, begin at 0, and keep the largest of many points."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.report.sections.statements.spark import HEIGHT, POINTS_MAX, POINTS_MIN, WIDTH, spark_of


def points(values: list[float]) -> list[tuple[float, float]]:
    spark = spark_of(tuple((5.0 * at, value) for at, value in enumerate(values)), "words")
    assert spark is not None
    pairs = [one.split(",") for one in spark.points.split()]
    return [(float(x), float(y)) for x, y in pairs]


def test_the_largest_is_at_the_top_and_zero_at_the_bottom() -> None:
    found = points([0.0, 1.0, 4.0, 2.0])
    assert [y for _, y in found] == [20.0, 15.5, 2.0, 11.0]
    assert [x for x, _ in found][0::3] == [2.0, 94.0]


def test_a_peak_among_many_points_is_kept() -> None:
    found = points([1.0] * 500 + [100.0] + [1.0] * 500)
    assert len(found) <= POINTS_MAX
    assert min(y for _, y in found) == 2.0


@given(st.lists(st.floats(0, 1e9), min_size=POINTS_MIN, max_size=300))
def test_all_stays_inside(values: list[float]) -> None:
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points(values))


def test_too_few_points_are_no_line() -> None:
    assert spark_of(((0.0, 1.0),) * (POINTS_MIN - 1), "words") is None
