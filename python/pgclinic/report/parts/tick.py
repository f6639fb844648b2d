"""A place on an axis with what is written there: in every picture the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """``at`` is per cent of the picture's width or height."""

    at: float
    text: str
