"""Names of indexes as PostgreSQL makes them, that nothing else in the schema has. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable

_NAME_BYTES = 63


def index_name(table: str, keys: Iterable[str], taken: Container[str]) -> str:
    """``orders_customer_id_idx``, with a number behind it where that name is ``taken``; the table's name is bare."""
    words = "_".join("".join(c if c.isalnum() else "_" for c in key).strip("_") for key in keys)
    stem = _cut(f"{table}_{words}", _NAME_BYTES - 8)
    name, number = f"{stem}_idx", 1
    while name in taken:
        number += 1
        name = f"{stem}_idx{number}"
    return name


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
