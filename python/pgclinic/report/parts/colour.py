"""Colours of texts for a terminal that can show them and a user who has not refused them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console
from rich.text import Text

from pgclinic.report.parts.visible import visible_one_by_one


def colour_wanted(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Colour only for a terminal that can show it and a user who has not refused it (no-color.org)."""
    if environment.get("NO_COLOR"):
        return False
    return stream.isatty() and environment.get("TERM") != "dumb"


def rendered(text: Text, colour: bool) -> str:
    """The text with its styles as escape sequences, or without them; what others put into it steers no terminal."""
    out = io.StringIO()
    text.plain = visible_one_by_one(text.plain)
    # Text does its own wrapping above, so the console must not wrap again.
    console = Console(
        file=out,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    console.print(text, soft_wrap=True, end="")
    return out.getvalue()
