"""``--set NAME=VALUE``, as every verb that starts servers takes it."""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.errors import UsageError
from pgclinic.settings.names import canonical_name


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """``name=value`` words -> a dict; what stands behind the first ``=`` is the value. Raises UsageError."""
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set {pair!r} is not NAME=VALUE", hint="write --set work_mem=64MB")
        canonical = canonical_name(name.strip())
        if canonical in settings:
            raise UsageError(f"--set {canonical} is given twice")
        settings[canonical] = value.strip()
    return settings
