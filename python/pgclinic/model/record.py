"""The base of all records: frozen, keyword only, unknown keys refused when read from a file."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen value without behaviour beyond what can be computed from its own fields."""
