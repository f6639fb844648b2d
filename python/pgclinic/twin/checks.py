"""Check constraints that relate two columns: they are kept while rows are made, not repaired afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pgclinic.sql.quoting import unquoted

#: A name as PostgreSQL prints it, with or without a cast behind it.
_NAME = r'\(?("(?:[^"]|"")+"|[a-z_][a-z0-9_$]*)\)?(?:::[a-z ]+(?:\(\d+(?:,\d+)?\))?)?'
_ORDERED = re.compile(rf"{_NAME} (<=|<|>=|>) {_NAME}")


_PRESENT = re.compile(rf"{_NAME} = \({_NAME} IS (NOT )?NULL\)")


def presence_columns(checks: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """The flag, the other column, and whether the flag means that it has a value, of ``flag = (a is not null)``."""
    for check in checks:
        for flag, of, negated in _PRESENT.findall(check):
            yield unquoted(flag), unquoted(of), bool(negated)


def ordered_columns(checks: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """The lower column, the higher one, and whether they always differ, of every ``a <= b`` among the constraints.

    ``checks`` are texts of pg_get_constraintdef. A comparison below a NOT is left alone.
    """
    for check in checks:
        if re.search(r"\bNOT\s*\(", check):
            continue
        for left, sign, right in _ORDERED.findall(check):
            low, high = (left, right) if sign.startswith("<") else (right, left)
            yield unquoted(low), unquoted(high), len(sign) == 1
