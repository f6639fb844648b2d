"""The mean time of a statement over the time of a trial, as far as its counters were sampled. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from pgclinic.model.sample import Row, Samples
from pgclinic.samples.deltas import increase

#: Mean execution time in ms at the end of each interval, in seconds since measuring began.
Course = tuple[tuple[float, float], ...]


def statement_courses(samples: Samples) -> Mapping[int, Course]:
    """By query id, from one sample of pg_stat_statements to the next; an interval without calls has no mean.

    Without the warm-up. A statement that a sample left out has a longer interval there.
    """
    seen: dict[int, list[tuple[float, Row]]] = {}
    for sample in samples.of("statements"):
        for row in sample.rows:
            query_id = row.get("query_id")
            if isinstance(query_id, int) and sample.at_s >= 0:
                seen.setdefault(query_id, []).append((sample.at_s, row))
    return {query_id: tuple(_means(own)) for query_id, own in seen.items()}


def _means(own: list[tuple[float, Row]]) -> list[tuple[float, float]]:
    found = []
    for (_, before), (at_s, after) in pairwise(own):
        calls = increase("statements", before, after, ("calls",))
        total_ms = increase("statements", before, after, ("total_ms",))
        if calls and total_ms is not None:
            found.append((at_s, total_ms / calls))
    return found
