"""The cause graph: every box and arrow has its place, whatever explains what."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.report.sections.causes.layout import (
    BOX_WIDTH,
    LINES_MAX,
    Box,
    Boxed,
    Graph,
    laid_out,
    width_px,
    wrapped,
)

TEXTS = st.text("abc mW_.é", min_size=1, max_size=160)


def boxed(*keys: str, text: str = "an index is missing") -> list[Boxed]:
    return [Boxed(key, f"{key}. warning", text) for key in keys]


def by_key(graph: Graph) -> dict[str, Box]:
    return {box.key: box for box in graph.boxes}


def overlap(one: Box, other: Box) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    below = one.y + one.height <= other.y or other.y + other.height <= one.y
    return not (beside or below)


def ends(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", path)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


def test_causes_stand_left_of_what_they_explain() -> None:
    graph = laid_out(boxed("a", "b", "c", "d"), [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")])
    x = {key: box.x for key, box in by_key(graph).items()}
    assert x["a"] == x["d"] < x["b"] < x["c"]


def test_an_arrow_begins_and_ends_at_its_boxes() -> None:
    graph = laid_out(boxed("a", "b"), [("a", "b")])
    (arrow,), boxes = graph.arrows, by_key(graph)
    (x, y), (end_x, end_y) = ends(arrow.path)
    assert (x, y) == (boxes["a"].x + BOX_WIDTH, boxes["a"].y + boxes["a"].height / 2)
    assert boxes["b"].x - end_x == pytest.approx(6)
    assert end_y == boxes["b"].y + boxes["b"].height / 2
    assert arrow.head.startswith(f"{boxes['b'].x:.1f},")


def test_an_arrow_that_passes_a_layer_crosses_no_box_there() -> None:
    graph = laid_out(boxed("a", "b", "c", "d"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")])
    (passing,) = [arrow for arrow in graph.arrows if (arrow.source, arrow.target) == ("a", "d")]
    # The straight part across the layer between has its height in front of it.
    lane = float(re.findall(r" ([\d.]+)H", passing.path)[0])
    between = [box for box in graph.boxes if box.key in ("b", "c")]
    assert all(not box.y <= lane <= box.y + box.height for box in between)


@given(st.data())
def test_boxes_do_not_overlap_and_every_edge_is_drawn(data: st.DataObject) -> None:
    """Of 1 to 30 findings, circles among them."""
    keys = [str(number) for number in range(1, data.draw(st.integers(1, 30)) + 1)]
    texts = data.draw(st.lists(TEXTS, min_size=len(keys), max_size=len(keys)))
    ends_of_edges = st.sampled_from(keys)
    edges = data.draw(st.lists(st.tuples(ends_of_edges, ends_of_edges), max_size=50))
    graph = laid_out([Boxed(key, key, text) for key, text in zip(keys, texts, strict=True)], edges)
    assert sorted(box.key for box in graph.boxes) == sorted(keys)
    assert not [pair for pair in combinations(graph.boxes, 2) if overlap(*pair)]
    assert {(arrow.source, arrow.target) for arrow in graph.arrows} == {edge for edge in edges if edge[0] != edge[1]}
    assert len(graph.arrows) == len({(arrow.source, arrow.target) for arrow in graph.arrows})
    for box in graph.boxes:
        assert box.x >= 0 and box.x + box.width <= graph.width
        assert box.y >= 0 and box.y + box.height <= graph.height
        assert box.first_y + box.line_height * len(box.lines) <= box.y + box.height


def test_a_circle_is_drawn_against_the_direction_of_the_others() -> None:
    graph = laid_out(boxed("a", "b"), [("a", "b"), ("b", "a")])
    boxes = by_key(graph)
    assert boxes["a"].x != boxes["b"].x
    assert {(arrow.source, arrow.target) for arrow in graph.arrows} == {("a", "b"), ("b", "a")}
    for arrow in graph.arrows:
        numbers = [float(one) for one in re.findall(r"-?[\d.]+", arrow.path)]
        assert max(numbers[::2]) <= graph.width


def test_what_names_no_box_is_left_out() -> None:
    graph = laid_out(boxed("a"), [("a", "gone"), ("gone", "a"), ("a", "a")])
    assert (len(graph.boxes), graph.arrows) == (1, ())
    assert laid_out([], []) == Graph(0.0, 6.0, (), ())


@given(TEXTS)
def test_lines_fit_their_box(text: str) -> None:
    lines = wrapped(text)
    assert len(lines) <= LINES_MAX
    assert all(width_px(line) <= BOX_WIDTH - 22 for line in lines)
    told = "".join(lines).replace(" ", "")
    whole = "".join(text.split())
    assert told == whole or (told.endswith("…") and whole.startswith(told[:-1]))
