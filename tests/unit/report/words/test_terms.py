"""The words of pgclinic are explained where a text uses them, each once."""

from __future__ import annotations

from pgclinic.report.words.terms import term_rows, term_words


def test_only_what_is_used_is_explained() -> None:
    assert term_words("b is faster, 5 blocks on the twin") == (
        "a block is one trial of each arm",
        "a twin is the database rebuilt from its statistics, without its data",
    )
    assert term_words("waits for a blocked session", "twinkle") == ()
    assert list(term_rows("one block, two blocks")) == [("terms", "a block is one trial of each arm")]
    assert list(term_rows("nothing")) == []
