"""Values of settings without the secrets that some of them carry."""

from __future__ import annotations

import re
from collections.abc import Collection

HIDDEN = "***"
_WORD = r"(?:password|passwd|passphrase|passfile|secret|token|credential|(?:api|access|private|account)[_-]?key)"
#: NAME=VALUE, NAME: VALUE and --NAME VALUE, with the value in quotes or up to the next space.
_ASSIGNED = re.compile(
    rf"""(?P<name>[\w-]*{_WORD}[\w-]*\s*(?:=|:|\s)\s*)(?P<value>'(?:[^']|'')*'|"[^"]*"|[^\s;&|]+)""", re.IGNORECASE
)
#: A command that prints a secret may have it as an argument.
_WHOLLY = frozenset({"ssl_passphrase_command"})
_IN_ADDRESS = re.compile(r"(?P<start>\w+://[^\s:/@]*:)[^\s@]*(?=@)")


def without_secrets(name: str, value: str, known: Collection[str]) -> str:
    """The value of setting ``name`` as it may be stored; ``known`` are the settings that the server declares.

    What an application keeps under a name of its own may be anything, so its value is left out.
    """
    if value and (("." in name and name not in known) or name in _WHOLLY):
        return HIDDEN
    return _IN_ADDRESS.sub(rf"\g<start>{HIDDEN}", _ASSIGNED.sub(rf"\g<name>{HIDDEN}", value))
