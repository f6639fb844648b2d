"""Rows of a long bench in a file, written after each: what is there already is not measured again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

Row = TypeVar("Row", bound=msgspec.Struct)


class KeptRows(Generic[Row]):
    """``key`` says which row is which. Rows of other ``conditions`` are not mixed with these: the bench ends then."""

    def __init__(
        self, out: Path, kind: type[Row], key: Callable[[Row], Hashable], conditions: Mapping[str, Any]
    ) -> None:
        self._out, self._key, self._conditions = out, key, dict(conditions)
        self._rows: dict[Hashable, Row] = {}
        if out.exists():
            found = json.loads(out.read_text(encoding="utf-8"))
            if found["conditions"] != self._conditions:
                sys.exit(f"{out} has rows of other conditions, {found['conditions']}: name another file by --out")
            self._rows = {key(one): one for one in msgspec.convert(found["rows"], list[kind])}  # type: ignore[valid-type]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(self._rows.values())

    def get(self, key: Hashable) -> Row | None:
        return self._rows.get(key)

    def add(self, row: Row) -> None:
        """In place of one of the same key."""
        self._rows[self._key(row)] = row
        kept = {"conditions": self._conditions, "rows": msgspec.to_builtins(list(self._rows.values()))}
        self._out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
