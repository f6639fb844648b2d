"""The command line as runs keep it: without the secrets of addresses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping


def command_words(addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The command line of this process; ``addresses``, whole by those without secrets, never get into it."""
    words = sys.argv[1:]
    for safe, whole in addresses.items():
        words = [word.replace(whole, safe) for word in words]
    return ("pgclinic", *words)


def addresses_of(dsns: Iterable[str | None]) -> dict[str, str]:
    """The whole address of every attached server by what is stored of it."""
    from pgclinic.pg.dsn import without_password

    return {without_password(dsn): dsn for dsn in dsns if dsn is not None}
