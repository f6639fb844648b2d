"""A row of the terminal: a label, and its content below its own beginning."""

from __future__ import annotations

from pgclinic.report.parts.rows import row_lines


def test_words_are_wrapped_below_their_beginning_and_commands_stay_whole() -> None:
    assert row_lines("trust", "one two three four five six", 28, 7) == [
        "  trust  one two three four",
        "         five six",
    ]
    assert row_lines("", "pgclinic report runs/a --output a.html", 20, 7, indent=4, is_whole=True) == [
        "           pgclinic report runs/a --output a.html"
    ]
    assert row_lines("none", "", 80, 7) == ["  none"]
    assert len(max(row_lines("narrow", "a b c d e f g h i j k l m n", 5, 7), key=len)) <= 9 + 20
