"""Charts of more samples than there is room for: the lowest and the highest of every stretch stay."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.report.parts.time_chart import (
    POINTS_MAX,
    POINTS_MIN,
    VALUES_MAX,
    ChartLine,
    Heat,
    Shape,
    TimeChart,
    Values,
    points_for,
    thinned,
    thinned_all,
    thinned_words,
)

VALUES = st.one_of(st.none(), st.floats(min_value=0, max_value=1e9, allow_nan=False))


def chart(*columns: Values, shape: Shape = "lines", heat: Heat | None = None) -> TimeChart:
    length = len(columns[0]) if columns else len(heat.cells) if heat is not None else 0
    return TimeChart(
        id="x",
        title="X",
        unit=" ms",
        measured_in="ms",
        shape=shape,
        span_s=(0.0, float(length)),
        from_s=tuple(float(second) for second in range(length)),
        to_s=tuple(second + 1.0 for second in range(length)),
        lines=tuple(ChartLine(name=str(n), ink="arm-0", values=values) for n, values in enumerate(columns)),
        heat=heat,
    )


def known(values: Values) -> list[float]:
    return [value for value in values if value is not None]


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=300), st.integers(min_value=4, max_value=60))
def test_the_lowest_and_the_highest_of_every_stretch_stay(rows: list[tuple[float | None, ...]], points: int) -> None:
    whole = chart(*zip(*rows, strict=True))
    thin = thinned(whole, points)
    assert len(thin.from_s) <= max(points, 2)
    if not thin.each_s:
        assert thin == whole
        return
    for line, own in zip(whole.lines, thin.lines, strict=True):
        for begin in range(0, len(rows), thin.each_s):
            all_of = known(line.values[begin : begin + thin.each_s])
            places = [at for at, from_s in enumerate(thin.from_s) if begin <= from_s < begin + thin.each_s]
            kept = known(tuple(own.values[at] for at in places))
            assert len(places) <= 2
            if all_of:
                assert (min(kept), max(kept)) == (min(all_of), max(all_of))
            else:
                assert kept == []


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=300), st.integers(min_value=4, max_value=60))
def test_parts_of_a_stack_stay_of_one_moment(rows: list[tuple[float | None, ...]], points: int) -> None:
    whole = chart(*zip(*rows, strict=True), shape="stack")
    thin = thinned(whole, points)
    sums = [sum(known(row)) for row in rows]
    kept = list(zip(*(line.values for line in thin.lines), strict=True))
    assert set(kept) <= set(rows)
    assert max(sum(known(row)) for row in kept) == max(sums)
    assert min(sum(known(row)) for row in kept) == min(sums)


@given(st.integers(min_value=1, max_value=5000), st.integers(min_value=4, max_value=900))
def test_time_is_covered_as_before(length: int, points: int) -> None:
    thin = thinned(chart((1.0,) * length), points)
    assert (thin.from_s[0], thin.to_s[-1]) == (0.0, float(length))
    assert list(thin.from_s[1:]) == list(thin.to_s[:-1])


def test_columns_of_a_heat_map_are_added_up() -> None:
    cells = tuple(((0, 1), (second % 3, 2)) if second % 3 else ((0, 3),) for second in range(1000))
    whole = chart(heat=Heat(edges=(1.0, 2.0, 4.0, 8.0), cells=cells), shape="heat")
    thin = thinned(whole, 100)
    assert thin.heat is not None
    assert len(thin.heat.cells) == math.ceil(1000 / thin.each_s) <= 100
    assert sum(count for row in thin.heat.cells for _, count in row) == 3000
    assert thin.thinned_words == f"Each column is the sum of {thin.each_s} s."


def test_the_page_says_what_is_drawn() -> None:
    whole = chart(tuple(float(second) for second in range(3600)))
    thin = thinned(whole, 900)
    assert thin.thinned_words == "Drawn from 900 of 3,600 samples: the lowest and the highest of each 8 s."
    assert thinned_words((whole,)) == whole.thinned_words == ""
    stack = thinned(chart(tuple(float(second) for second in range(3600)), shape="stack"), 900)
    assert thinned_words((thin, stack)).endswith("; of a stack those with the lowest and the highest sum.")


def test_a_page_with_many_lines_has_fewer_points_of_each() -> None:
    assert points_for(1) == POINTS_MAX
    assert points_for(10**6) == POINTS_MIN
    many = tuple(chart(*[(1.0,) * 3600 for _ in range(80)]) for _ in range(3))
    drawn = sum(len(line.values) for one in thinned_all(many) for line in one.lines)
    assert drawn <= VALUES_MAX


def test_an_empty_chart_stays_empty() -> None:
    assert thinned(chart(()), 10).from_s == ()
