"""Arrays, ranges, composite values and JSON as PostgreSQL prints them: taken apart, changed, put together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

#: Changes one text; ``None`` is null and is never asked for.
Change = Callable[[str], str]
#: Changes one scalar or key of a JSON value: what it is, its path, its text.
JsonChange = Callable[["JsonPart", tuple[str, ...], str], str]


class JsonPart(Enum):
    STRING = "string"
    NUMBER = "number"
    KEY = "key"


_ARRAY_QUOTED = re.compile(r'[{}",\\\s]')
_FIELD_QUOTED = re.compile(r'[()",\\\s]')
_RANGE_QUOTED = re.compile(r'[()\[\]",\\\s]')


class NotReadableError(ValueError):
    """A text that is not of the form its type prints."""


def change_array(text: str, change: Change) -> str:
    """``{a,"b c",NULL}`` with every element changed, at any depth. Raises NotReadableError."""
    bounds, body = "", text
    if text.startswith("["):
        bounds, _, body = text.partition("=")
        bounds += "="
    changed, end = _array(body, 0, change)
    if end != len(body):
        raise NotReadableError(text)
    return bounds + changed


def _array(text: str, at: int, change: Change) -> tuple[str, int]:
    if text[at : at + 1] != "{":
        raise NotReadableError(text)
    at += 1
    parts: list[str] = []
    while text[at : at + 1] != "}":
        if text[at : at + 1] == "{":
            part, at = _array(text, at, change)
        else:
            value, quoted, at = _token(text, at, ",}")
            is_null = value.upper() == "NULL" and not quoted
            part = "NULL" if is_null else _quoted_element(change(value))
        parts.append(part)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "}":
            raise NotReadableError(text)
    return "{" + ",".join(parts) + "}", at + 1


def _quoted_element(value: str) -> str:
    if value and value.upper() != "NULL" and not _ARRAY_QUOTED.search(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def change_record(text: str, change: Callable[[int, str], str]) -> str:
    """``(1,"a b",)`` with every field that is not null changed, by its number from 0. Raises NotReadableError."""
    if not (text.startswith("(") and text.endswith(")")):
        raise NotReadableError(text)
    at, fields = 1, []
    while True:
        value, quoted, at = _token(text, at, ",)")
        if not value and not quoted:
            fields.append("")
        else:
            new = change(len(fields), value)
            fields.append('"' + new.replace("\\", "\\\\").replace('"', '""') + '"' if _needs_quotes(new) else new)
        if text[at : at + 1] == ")":
            return f"({','.join(fields)})"
        if text[at : at + 1] != ",":
            raise NotReadableError(text)
        at += 1


def _needs_quotes(value: str) -> bool:
    return not value or bool(_FIELD_QUOTED.search(value))


def change_range(text: str, change: Change) -> str:
    """``[a,b)`` with both bounds changed; an empty range and an open side stay. Raises NotReadableError."""
    if text == "empty":
        return text
    if not text or text[0] not in "[(" or text[-1] not in ")]":
        raise NotReadableError(text)
    low, low_quoted, at = _token(text, 1, ",")
    if text[at : at + 1] != ",":
        raise NotReadableError(text)
    high, high_quoted, at = _token(text, at + 1, ")]")
    if at != len(text) - 1:
        raise NotReadableError(text)
    bounds = [
        _range_bound(change(bound)) if bound or quoted else ""
        for bound, quoted in ((low, low_quoted), (high, high_quoted))
    ]
    return f"{text[0]}{bounds[0]},{bounds[1]}{text[-1]}"


def _range_bound(value: str) -> str:
    if value and not _RANGE_QUOTED.search(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '""') + '"'


def _token(text: str, at: int, ends: str) -> tuple[str, bool, int]:
    """A value up to one of ``ends``, whether it had quotes, and where it ends."""
    value: list[str] = []
    quoted = inside = False
    while at < len(text):
        one = text[at]
        if one == "\\" and at + 1 < len(text):
            value.append(text[at + 1])
            at += 2
            continue
        if one == '"':
            if inside and text[at + 1 : at + 2] == '"':
                value.append('"')
                at += 2
                continue
            quoted, inside = True, not inside
        elif one in ends and not inside:
            return "".join(value), quoted, at
        else:
            value.append(one)
        at += 1
    raise NotReadableError(text)


class _Number(str):
    """A number of a JSON value as it was written."""

    __slots__ = ()


def change_json(text: str, change: JsonChange) -> str:
    """A JSON value with its strings, numbers and keys changed. Raises NotReadableError."""
    try:
        value = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except (ValueError, RecursionError) as error:
        raise NotReadableError(text) from error
    return _json(value, (), change)


def _json(value: Any, path: tuple[str, ...], change: JsonChange) -> str:
    match value:
        case dict():
            parts = (
                f"{json.dumps(change(JsonPart.KEY, path, key), ensure_ascii=False)}: {_json(one, (*path, key), change)}"
                for key, one in value.items()
            )
            return "{" + ", ".join(parts) + "}"
        case list():
            return "[" + ", ".join(_json(one, (*path, "[]"), change) for one in value) + "]"
        case _Number():
            return change(JsonPart.NUMBER, path, str(value))
        case str():
            return json.dumps(change(JsonPart.STRING, path, value), ensure_ascii=False)
        case _:
            return json.dumps(value)
