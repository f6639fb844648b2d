"""A command in a page: a narrow one breaks it between its words, and not behind the hyphens of an option."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_HYPHENED = re.compile(r"(\S*-\S*)")


def unbroken(text: str) -> Markup:
    """The text with every word that has a hyphen in an element of its own; what is copied stays as it was."""
    parts = _HYPHENED.split(text)
    return Markup("").join(
        Markup('<span class="w">{}</span>').format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
