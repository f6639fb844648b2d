"""Records from JSON, and from tables of other parsers: the one way to read them, from any thread.

msgspec learns how to decode a record when that is first wanted, and publishes what it knows before that is complete.
A second thread that decodes the same record meanwhile finds a field without a type, and the process ends with a
segmentation fault (seen with msgspec 0.22.0). So one thread at a time learns, and all others wait for it.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, TypeVar, overload

import msgspec

_Kind = TypeVar("_Kind")
_LEARNING = threading.Lock()


@overload
def decoder_of(kind: type[_Kind], *, strict: bool = True) -> msgspec.json.Decoder[_Kind]: ...


@overload
def decoder_of(kind: Any, *, strict: bool = True) -> msgspec.json.Decoder[Any]: ...


def decoder_of(kind: Any, *, strict: bool = True) -> msgspec.json.Decoder[Any]:
    """What decodes ``kind``; with ``strict`` False the text "1" is a number where one is wanted, as in msgspec."""
    with _LEARNING:
        return _learnt(kind, strict)


@cache
def _learnt(kind: Any, strict: bool) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, strict=strict)


def decoded_json(content: bytes | bytearray | str, kind: type[_Kind]) -> _Kind:
    """The record in ``content``. Raises msgspec.DecodeError, UnicodeDecodeError and RecursionError."""
    return decoder_of(kind).decode(content)


def converted(raw: object, kind: type[_Kind]) -> _Kind:
    """The record of a table that another parser has read. Raises msgspec.ValidationError."""
    decoder_of(kind)
    return msgspec.convert(raw, kind)
