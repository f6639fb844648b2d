"""Names as statements need them: quoted where the plain word would be something else."""

from __future__ import annotations

import re

from pglast.keywords import COL_NAME_KEYWORDS, RESERVED_KEYWORDS, TYPE_FUNC_NAME_KEYWORDS

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")
_KEYWORDS = frozenset(RESERVED_KEYWORDS) | frozenset(TYPE_FUNC_NAME_KEYWORDS) | frozenset(COL_NAME_KEYWORDS)


def identifier(name: str) -> str:
    """``orders`` as it is, ``Orders`` and ``user`` in quotes."""
    if _PLAIN.fullmatch(name) and name not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def qualified(schema: str, name: str) -> str:
    return f"{identifier(schema)}.{identifier(name)}"


def literal(text: str) -> str:
    """A string constant, for servers with standard_conforming_strings on."""
    return "'" + text.replace("'", "''") + "'"
