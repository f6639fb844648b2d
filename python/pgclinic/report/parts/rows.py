"""Rows of the terminal: a label, and its content wrapped below its own beginning."""

from __future__ import annotations

import textwrap

#: No content is wrapped to fewer columns.
_COLUMNS_MIN = 20


def row_lines(
    label: str, content: str, width: int, label_width: int, *, indent: int = 2, is_whole: bool = False
) -> list[str]:
    """``indent`` spaces, the label in ``label_width`` columns, the content; commands and paths stay whole."""
    head = f"{' ' * indent}{label:<{label_width}}"
    if is_whole:
        return [f"{head}{content}"]
    space = max(_COLUMNS_MIN, width - len(head))
    first, *rest = textwrap.wrap(content, space, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{head}{first}".rstrip(), *(f"{' ' * len(head)}{line}" for line in rest)]
