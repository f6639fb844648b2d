"""The words of a command as they may be stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.bench.getopt_long import read_words
from pgclinic.bench.options import ALL_OPTIONS
from pgclinic.errors import UsageError
from pgclinic.pg.dsn import without_password
from pgclinic.pg.libpq import is_connection_string


def without_secrets(words: Sequence[str]) -> list[str]:
    """The same words; connection strings lose their passwords, wherever in a word they stand."""
    given, rest = read_words(words, ALL_OPTIONS)
    addresses = [one.value for one in given if one.name == "dbname" and one.value] + list(rest[:1])
    safe = list(words)
    for address in addresses:
        if is_connection_string(address):
            safe = [word.replace(address, _safe(address)) for word in safe]
    return safe


def _safe(address: str) -> str:
    try:
        return without_password(address)
    except UsageError:
        # libpq could not read it either, so nothing ran with it.
        return "..."
