"""Comments in statements: drivers and applications write users, routes and tickets there. Pure."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""(?P<line>--[^\n\r]*)
    |(?P<block>/\*)
    |(?P<kept>(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'
        |'(?:[^']|'')*'
        |"(?:[^"]|"")*"
        |(?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)""",
    re.DOTALL | re.VERBOSE,
)
_EDGE_OF_BLOCK = re.compile(r"/\*|\*/")


def without_comments(text: str) -> str:
    """The same statement with a space for each comment; block comments nest, as the server reads them.

    What looks like a comment inside a constant or a quoted name stays. Of a text that was cut off inside a comment the
    rest is gone.
    """
    shown: list[str] = []
    at = 0
    while (found := _PIECE.search(text, at)) is not None:
        shown.append(text[at : found.start()])
        at = found.end()
        if found["kept"] is not None:
            shown.append(found["kept"])
            continue
        if found["block"] is not None:
            at = _end_of_block(text, at)
        if shown and shown[-1] and not shown[-1][-1].isspace():
            shown.append(" ")
    shown.append(text[at:])
    return "".join(shown).strip()


def _end_of_block(text: str, at: int) -> int:
    """Behind the end of the comment whose beginning ends at ``at``, or of the text."""
    depth = 1
    for edge in _EDGE_OF_BLOCK.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)
