"""Names and constants as statements need them. One place for all; no parser is asked."""

from __future__ import annotations

import re

from pgclinic.sql.keywords import TAKEN_WORDS

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


def identifier(name: str) -> str:
    """``orders`` as it is, ``Orders`` and ``user`` in quotes."""
    return name if _PLAIN.fullmatch(name) and name not in TAKEN_WORDS else quoted(name)


def qualified(schema: str, name: str) -> str:
    """Both identifiers, in quotes where they need them."""
    return f"{identifier(schema)}.{identifier(name)}"


def quoted(name: str) -> str:
    """An identifier in quotes, whether it needs them or not."""
    return '"' + name.replace('"', '""') + '"'


def unquoted(name: str) -> str:
    """The name that an identifier stands for, which has quotes or is in small letters."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def name_parts(name: str) -> tuple[str, ...]:
    """The identifiers of a qualified name: ``public."Order"`` is public and Order."""
    return tuple(
        match[1].replace('""', '"') if match[1] is not None else match[2].lower() for match in _PART.finditer(name)
    )


def literal(text: str) -> str:
    """A string constant, which means the same whatever standard_conforming_strings is."""
    escaped = text.replace("'", "''")
    return "E'" + escaped.replace("\\", "\\\\") + "'" if "\\" in text else f"'{escaped}'"
