"""A picture with what belongs to it: tables and notes."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.report.parts.bars import Bars


@dataclass(frozen=True)
class NamedTable:
    title: str
    about: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric_from: int = 1


@dataclass(frozen=True)
class Pictured:
    """``picture`` is None where there is nothing to draw; ``picture_about`` says what it shows."""

    picture: Bars | None
    picture_about: str
    tables: tuple[NamedTable, ...]
    notes: tuple[str, ...]
