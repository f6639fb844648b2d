"""Means over trials, where some of them may lack the value. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.stats.summary import mean

Values = tuple[float | None, ...]


def mean_known(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def mean_by_place(series: Sequence[Values]) -> Values:
    """The mean of several series of one length, place by place, over those that have a value there."""
    return tuple(mean_known(column) for column in zip(*series, strict=True))
