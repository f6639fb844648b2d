"""Addresses inside texts as links."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

#: http and https only: nothing else may be opened from a page that shows texts of others.
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]]")


def linked(text: str) -> Markup:
    """The text, escaped, with a link at each http or https address in it."""
    parts, at = [], 0
    for match in _ADDRESS.finditer(text):
        address = escape(match[0])
        parts += [
            escape(text[at : match.start()]),
            Markup('<a href="{0}" rel="noopener noreferrer">{0}</a>').format(address),
        ]
        at = match.end()
    return Markup("").join([*parts, escape(text[at:])])
