"""The words of pgclinic that a first screen needs and a reader of PostgreSQL's manual does not know, explained once."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TERMS = {
    "block": (re.compile(r"\bblocks?\b"), "a block is one trial of each arm"),
    "twin": (re.compile(r"\btwins?\b"), "a twin is the database rebuilt from its statistics, without its data"),
}


def term_words(*texts: str) -> tuple[str, ...]:
    """What those of the words mean that the texts use."""
    said = " ".join(texts)
    return tuple(words for pattern, words in _TERMS.values() if pattern.search(said))


def term_rows(*texts: str) -> Iterator[tuple[str, str]]:
    """The same as a row for the terminal; none where neither word is used."""
    words = term_words(*texts)
    if words:
        yield "terms", "; ".join(words)
