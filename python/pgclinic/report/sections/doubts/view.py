"""Reasons to distrust a run, with what to do about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.doubt import Doubt
from pgclinic.report.words.doubts import DoubtWords, doubt_words


@dataclass(frozen=True)
class DoubtsView:
    """``otherwise`` is what to say where there is none."""

    doubts: tuple[DoubtWords, ...]
    otherwise: str


def doubts_view(doubts: Sequence[Doubt], otherwise: str) -> DoubtsView:
    return DoubtsView(tuple(map(doubt_words, doubts)), otherwise)
