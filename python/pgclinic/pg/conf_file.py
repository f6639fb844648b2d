"""postgresql.conf as a file of settings, read as the server reads it."""

from __future__ import annotations

import re

from pgclinic.errors import UsageError

_LINE = re.compile(
    r"""\s*(?P<name>[A-Za-z_][\w.]*)\s*(?:=\s*|\s)\s*(?P<value>'(?:[^'\\]|''|\\.)*'|[^\s'#]+)\s*(?:\#.*)?""", re.VERBOSE
)
_QUOTED = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_INCLUDES = ("include", "include_dir", "include_if_exists")


def parse_conf(text: str, file: str) -> dict[str, str]:
    """The settings of a file; the last line of a setting counts, as for the server.

    Raises UsageError with file and line for what is no setting, and for files that it includes.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(f"{file}, line {number}: {line.strip()[:60]!r} is no setting", hint="write name = value")
        name = match["name"]
        if name.lower() in _INCLUDES:
            raise UsageError(
                f"{file}, line {number}: {name} is not followed", hint="give the settings of all files in one"
            )
        found.pop(name, None)
        found[name] = _value(match["value"])
    return found


def _value(text: str) -> str:
    if not text.startswith("'"):
        return text
    return _QUOTED.sub(lambda match: "'" if match[1] is None else _ESCAPES.get(match[1], match[1]), text[1:-1])
