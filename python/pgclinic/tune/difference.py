"""Two configurations, and every one between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

BASE, CHANGED = "base", "changed"


@dataclass(frozen=True)
class Difference:
    """``base`` has all settings of the base; ``changed`` the values that differ from it, None for the default."""

    base: Mapping[str, str]
    changed: Mapping[str, str | None]

    @classmethod
    def between(cls, base: Mapping[str, str], complete: Mapping[str, str]) -> Difference:
        """What turns ``base`` into ``complete``."""
        changed: dict[str, str | None] = {name: value for name, value in complete.items() if base.get(name) != value}
        changed |= {name: None for name in base if name not in complete}
        return cls(dict(base), changed)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.changed)

    def settings(self, names: Collection[str]) -> dict[str, str]:
        """The base with these settings changed."""
        found = dict(self.base)
        for name in names:
            value = self.changed[name]
            if value is None:
                found.pop(name, None)
            else:
                found[name] = value
        return found

    @property
    def complete(self) -> dict[str, str]:
        return self.settings(self.names)
