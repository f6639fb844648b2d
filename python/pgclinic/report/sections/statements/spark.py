"""A line of figures over time, small enough for a cell."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEIGHT = 96, 22
#: Fewer points are no line; more have no room, and of those beside each other the largest is drawn.
POINTS_MIN, POINTS_MAX = 4, 96
_EDGE = 2.0


@dataclass(frozen=True)
class Spark:
    """``points`` are those of an SVG's polyline, from 0 at the bottom; ``words`` say what it shows."""

    points: str
    words: str


def spark_of(course: tuple[tuple[float, float], ...], words: str) -> Spark | None:
    """Of moments and values; None of too few of them."""
    if len(course) < POINTS_MIN:
        return None
    begin, end = course[0][0], course[-1][0]
    most = max(value for _, value in course) or 1.0
    highest: dict[int, tuple[float, float]] = {}
    for at, value in course:
        place = int((at - begin) / (end - begin) * (POINTS_MAX - 1)) if end > begin else 0
        if place not in highest or value > highest[place][1]:
            highest[place] = (at, value)
    scaled = (
        (
            _EDGE + (at - begin) / ((end - begin) or 1.0) * (WIDTH - 2 * _EDGE),
            HEIGHT - _EDGE - value / most * (HEIGHT - 2 * _EDGE),
        )
        for at, value in highest.values()
    )
    return Spark(" ".join(f"{x:.1f},{y:.1f}" for x, y in scaled), words)
