"""A Study -> the TOML of a study file, so that a run of a study that we made ourselves can be judged again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import fields

from pgclinic.model.study import Study

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# Tabs and line feeds may stand in a literal; other control characters, and carriage returns, may not.
_LITERAL = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*")


def study_toml(study: Study) -> str:
    """What ``parse_study`` reads back as the same study. Values that are the defaults are left out."""
    return "\n".join(_table((), _told(study))).lstrip("\n") + "\n"


def _told(record: msgspec.Struct) -> dict[str, Any]:
    """The fields that differ from their defaults, as plain values; TOML has no null, and none is needed then."""
    told = {}
    for field in fields(record):
        value = getattr(record, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if value != default and value is not None:
            told[field.name] = _plain(value)
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _told(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return msgspec.to_builtins(value)


def _table(path: tuple[str, ...], values: dict[str, Any]) -> Iterator[str]:
    """A table's own values first, then the tables inside it."""
    inner = {key: value for key, value in values.items() if _is_table(value)}
    for key, value in values.items():
        if key not in inner:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        name = ".".join(_key(part) for part in (*path, key))
        for one in value if isinstance(value, list) else [value]:
            yield f"\n[[{name}]]" if isinstance(value, list) else f"\n[{name}]"
            yield from _table((*path, key), one)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, str):
        # A script or a fill should be readable where it is kept.
        readable = "\n" in value and "'''" not in value and not value.endswith("'") and _LITERAL.fullmatch(value)
        return f"'''\n{value}'''" if readable else _quoted(value)
    return repr(value)


def _quoted(text: str) -> str:
    # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
