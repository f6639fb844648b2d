"""What commands print: JSON, and text as wide as the terminal."""

from __future__ import annotations

import os
import shutil
import sys

import msgspec

from pgclinic.report.parts.visible import write_own


def print_json(value: object) -> None:
    """Print a record, or builtin values, as one line of JSON."""
    print(msgspec.json.encode(value).decode())


def text_columns() -> int:
    """Return how many columns a text may have: as many as the terminal, from 60 to 120."""
    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


def is_coloured() -> bool:
    """Return whether stdout shows colours and the user wants them."""
    from pgclinic.report.parts.colour import colour_wanted

    return colour_wanted(sys.stdout, os.environ)


def print_coloured(text: str) -> None:
    """Print a text whose colours are our own; what it quotes has been made visible."""
    write_own(sys.stdout, text + "\n")


def say(text: str) -> None:
    """Print a line to stderr at once."""
    print(text, file=sys.stderr, flush=True)
