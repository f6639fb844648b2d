"""Text from elsewhere on a screen, a page or in a file for people: what would steer it is shown instead.

Titles, server messages, statements and script names come from study files and servers. An escape sequence in them could
recolour, overwrite or forge what the user reads. Everything that the command writes goes through ``VisibleStream``; our
own sequences go around it, by ``write_own``. Pages, Markdown and exports go through ``visible`` as a whole.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
# C1 controls, of which U+009B begins a sequence, and what reorders the letters after it.
_HIDDEN = [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
# No text that is written as UTF-8 has halves of pairs, and XML has no noncharacters.
_HIDDEN += [*range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
# As JSON writes them, because JSON is printed as well. It holds no other control character than line ends.
_WRITTEN: dict[int, int | str] = {**_PICTURES, 0x7F: "\\u007f", **{code: f"\\u{code:04x}" for code in _HIDDEN}}
_ONE_BY_ONE = {**_PICTURES, **dict.fromkeys(_HIDDEN, 0xFFFD)}
# Few texts have any, and pages are long.
_ODD = re.compile("[" + "".join(map(chr, _WRITTEN)).replace("]", r"\]") + "]")


def visible(text: str) -> str:
    """The text with control characters as pictures, ESC as U+241B; line ends and tabs stay."""
    return text.translate(_WRITTEN) if _ODD.search(text) else text


def visible_values(value: Any) -> Any:
    """The same for all texts in what JSON is made of."""
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible_values(key): visible_values(one) for key, one in value.items()}
        case list() | tuple():
            return [visible_values(one) for one in value]
        case _:
            return value


def visible_one_by_one(text: str) -> str:
    """The same in as many characters, for text whose parts are known by their positions."""
    return text.translate(_ONE_BY_ONE)


class VisibleStream:
    """A text stream on which no foreign text steers the terminal; everything else is as on ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Everything that is written to stdout and stderr meanwhile is made visible."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        out if isinstance(out, VisibleStream) else cast("TextIO", VisibleStream(out)) for out in before
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def write_own(out: TextIO, text: str) -> None:
    """Write a sequence of our own that steers the terminal: nothing of it may come from elsewhere."""
    own_stream(out).write(text)


def own_stream(out: TextIO) -> TextIO:
    """The stream below, for sequences of our own; what comes from elsewhere must be made visible before."""
    return out.stream if isinstance(out, VisibleStream) else out
