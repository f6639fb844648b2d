"""A change that can be tried on a twin: settings, and statements that change the schema. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_DROP_INDEX = re.compile(r"\s*drop\s+index\b", re.IGNORECASE)
_CREATE_INDEX = re.compile(r"\s*create\s+(unique\s+)?index\b", re.IGNORECASE)
_CONCURRENTLY = re.compile(r"\b(index(?:\s+if\s+(?:not\s+)?exists)?)\s+concurrently\b", re.IGNORECASE)


@dataclass(frozen=True)
class TwinChange:
    """``before`` are the values that the live server has of the settings that the treatment changes."""

    treatment: int
    title: str
    settings: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[str, ...] = ()
    prevents: bool = False

    @property
    def only_drops_indexes(self) -> bool:
        return (
            bool(self.statements)
            and not self.settings
            and all(_DROP_INDEX.match(statement) for statement in self.statements)
        )

    @property
    def only_indexes(self) -> bool:
        """Whether all its statements create or drop indexes; true of a change that has no statements too."""
        return all(_DROP_INDEX.match(text) or _CREATE_INDEX.match(text) for text in self.statements)

    @property
    def creates_index(self) -> bool:
        return any(_CREATE_INDEX.match(statement) for statement in self.statements)

    @property
    def in_transaction(self) -> tuple[str, ...]:
        """The same for one transaction that is rolled back: nothing is built concurrently in it."""
        sets = tuple(f"set local {name} to '{value}'" for name, value in self.settings.items())
        return (*sets, *(_CONCURRENTLY.sub(r"\1", statement) for statement in self.statements))


def together(changes: tuple[TwinChange, ...], title: str) -> TwinChange:
    """All of them as one change; of two values of a setting the first one's. ``treatment`` is that of the first."""
    settings: dict[str, str] = {}
    before: dict[str, str] = {}
    statements: dict[str, None] = {}
    for change in changes:
        settings = {**change.settings, **settings}
        before = {**change.before, **before}
        statements |= dict.fromkeys(change.statements)
    return TwinChange(
        treatment=changes[0].treatment if changes else 0,
        title=title,
        settings=settings,
        before=before,
        statements=tuple(statements),
    )
