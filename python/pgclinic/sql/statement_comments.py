"""Comments taken out of the texts of statements: applications write whom they work for there, and what they look for.

The rules are those of PostgreSQL's scanner (src/backend/parser/scan.l), with standard_conforming_strings on. It cannot
be asked itself, as it refuses texts that were cut off, which those of pg_stat_activity may be.
"""

from __future__ import annotations

import re
from functools import cache

_LETTER = r"[A-Za-z_\x80-\U0010ffff]"
_REST_OF_ESCAPED = r"(?:[^'\\]|\\.|'')*(?:'|\\?\Z)"
_ESCAPED_AGAIN = re.compile(rf"'{_REST_OF_ESCAPED}", re.DOTALL)
_EDGE = re.compile(r"/\*|\*/")
_END_OF_LINE = re.compile(r"[\n\r]")
#: The comment by which PostgreSQL 18 says that there were more constants.
SHORTENED = "/*, ... */"
_SPACES = " \t\n\r\f\v"


@cache
def _token() -> re.Pattern[str]:
    """One token of a statement; compiling it takes 7 ms, which a command that reads no statement need not wait for."""
    return re.compile(
        rf"""(?P<escaped>[eE]'{_REST_OF_ESCAPED})
        |(?P<quoted>'[^']*(?:'|\Z)
            |"[^"]*(?:"|\Z)
        |\$(?P<tag>(?:{_LETTER}(?:{_LETTER}|[0-9])*)?)\$.*?(?:\$(?P=tag)\$|\Z)
        |{_LETTER}(?:{_LETTER}|[0-9$])*)
        |(?P<line>--[^\n\r]*)
        |(?P<block>/\*)
        |(?P<other>[\s0-9(),;.]+|.)""",
        re.DOTALL | re.VERBOSE,
    )


def without_comments(text: str) -> str:
    """The same statement without ``--`` and ``/* */``, nested or cut off; strings and quoted names are as they were.

    Hints of pg_hint_plan are comments too. What PostgreSQL itself puts into the text of a statement stays: that a list
    was longer.
    """
    if "--" not in text and "/*" not in text:
        return text.strip()
    kept: list[str] = []
    token = _token()
    at = 0
    while (match := token.match(text, at)) is not None:
        at = match.end()
        match match.lastgroup:
            case "line":
                pass
            case "block":
                began, at = match.start(), _end_of_block(text, at)
                if text[began:at] == SHORTENED:
                    kept.append(SHORTENED)
                elif kept and not kept[-1][-1].isspace():
                    kept.append(" ")
            case "escaped":
                kept.append(match[0])
                at = _continued(text, at, kept)
            case _:
                kept.append(match[0])
    return "".join(kept).strip()


def _end_of_block(text: str, at: int) -> int:
    """Behind the comment whose ``/*`` ends ``at``; the end of a text that was cut off within it."""
    depth = 1
    while depth and (edge := _EDGE.search(text, at)) is not None:
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return len(text) if depth else at


def _continued(text: str, at: int, kept: list[str]) -> int:
    """Take in what continues an E'' string on later lines, where a backslash still escapes. Gives where that ends."""
    while (start := _start_of_continuation(text, at)) is not None:
        again = _ESCAPED_AGAIN.match(text, start)
        assert again is not None, "it begins with a quote"
        kept += ("\n", again[0])
        at = again.end()
    return at


def _start_of_continuation(text: str, at: int) -> int | None:
    """The quote behind spaces and ``--`` comments with a line break among them."""
    is_other_line = False
    while at < len(text):
        if text[at] in _SPACES:
            is_other_line = is_other_line or text[at] in "\n\r"
            at += 1
        elif text.startswith("--", at):
            end = _END_OF_LINE.search(text, at)
            at = len(text) if end is None else end.start()
        else:
            return at if is_other_line and text[at] == "'" else None
    return None
