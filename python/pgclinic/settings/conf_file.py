"""postgresql.conf as a file of settings: read as the server reads it, and written so that it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pgclinic.errors import UsageError
from pgclinic.settings.names import canonical_name

_LINE = re.compile(
    r"""\s*(?P<name>[A-Za-z_][\w.]*)\s*(?:=\s*|\s)\s*(?P<value>'(?:[^'\\]|''|\\.)*'|[^\s'#]+)\s*(?:\#.*)?""", re.VERBOSE
)
_QUOTED = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_INCLUDES = ("include", "include_dir", "include_if_exists")


@dataclass(frozen=True)
class ConfFile:
    """``included`` are the lines that name other files, which are not read, such as ``include_dir conf.d``."""

    settings: dict[str, str]
    included: tuple[str, ...]


def parse_conf(text: str, file: str) -> ConfFile:
    """Read the text of a file; the last line of a setting counts, as for the server.

    Raises UsageError with file and line for what is not a setting.
    """
    found: dict[str, str] = {}
    included: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(f"{file}, line {number}: {line.strip()[:60]!r} is no setting", hint="write name = value")
        name = canonical_name(match["name"])
        if name in _INCLUDES:
            included.append(f"{name} {_value(match['value'])}")
            continue
        found.pop(name, None)
        found[name] = _value(match["value"])
    return ConfFile(found, tuple(included))


def _value(text: str) -> str:
    if not text.startswith("'"):
        return text
    return _QUOTED.sub(lambda match: "'" if match[1] is None else _ESCAPES.get(match[1], match[1]), text[1:-1])


def render_settings(settings: Mapping[str, str]) -> str:
    """Lines of a postgresql.conf. Every value is quoted: unquoted, the file refuses 1e300 or a list, which -c takes."""
    return "".join(f"{name} = {quoted(value)}\n" for name, value in settings.items())


def quoted(value: str) -> str:
    """A string of a configuration file; the server undoes doubled quotes and backslash escapes."""
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
