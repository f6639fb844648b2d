"""What is left of a statement without its comments: all other tokens that PostgreSQL's scanner finds, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.sql.fingerprint import without_constants
from pgclinic.sql.parser import UnreadableError, Word, words_of
from pgclinic.sql.statement_comments import without_comments
from pgclinic.sql.statement_kind import known_statement

_MARK = "zz_secret"
_COMMENTS = {"SQL_COMMENT", "C_COMMENT"}
_PARTS = st.sampled_from(
    (
        *("/*", "*/", "--", "\n", "\r", " ", "/", "*", "-", "+", "'", "''", '"', '""', "\\", "\\'", "$", "$$", "$a$"),
        *(
            "$1",
            "E'",
            "e'",
            "U&'",
            "b'",
            "N'",
            'U&"',
            "E",
            "a",
            "a$b",
            "select",
            "1",
            ".5",
            "é",
            "(",
            ")",
            ";",
            "=",
            "|",
        ),
        *("E'x'\n'y\\'z'", "E'x' -- c\n 'y'", "/* a /* b */ c */", "'--'", '"/*"', "$q$ /* $q$", "*/*c*/", "-- c\n"),
    )
)
_TEXTS = st.lists(_PARTS, max_size=14).map("".join)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    """Kind and text of each token that is no comment; None for what the scanner refuses or takes for another text."""
    try:
        words = list(words_of(text))
    except UnreadableError:
        return None
    return None if _goes_on_behind_a_comment(words) else [(w.kind, w.text) for w in words if w.kind not in _COMMENTS]


def _goes_on_behind_a_comment(words: list[Word]) -> bool:
    """A string in two parts, which PostgreSQL takes for one and this scanner for two."""
    last, is_behind_comment = "", False
    for word in words:
        if word.kind in _COMMENTS:
            is_behind_comment = True
            continue
        if is_behind_comment and last.endswith("'") and word.text.startswith("'"):
            return True
        last, is_behind_comment = word.text, False
    return False


def _joined(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A string that goes on in other lines is one token, with whatever stood between its parts."""
    return [(name, "".join(without_comments(text).split())) for name, text in tokens]


@given(_TEXTS)
def test_all_other_tokens_stay_and_no_comment_does(text: str) -> None:
    tokens = _tokens(text)
    if tokens is None:
        return
    kept = without_comments(text)
    assert (found := _tokens(kept)) is not None
    assert _joined(found) == _joined(tokens)
    assert not any(one.kind in _COMMENTS for one in words_of(kept))
    assert without_comments(kept) == kept


@given(st.sampled_from(("/* {} */", "-- {}\n", "/* /* x */ {} */", "/*{}", "/*/ {} */", "--{}\r")), st.integers(0, 200))
def test_no_part_of_a_comment_is_kept_wherever_the_text_is_cut_off(form: str, length: int) -> None:
    comment = form.format(_MARK)
    text = f"{comment} select {comment} 'it''s', E'\\'', $a$ ' $a$, \"a b\" {comment} from t where a = 1 {comment}"
    for change in (without_comments, without_constants, lambda part: known_statement(part).text):
        assert "secret" not in change(text[:length])
        assert "zz" not in change(text[:length])


def test_a_backslash_escapes_in_what_continues_a_string_on_another_line() -> None:
    text = "select E'x' -- zz\n'y\\'z' /* zz_secret ' */ from t"
    assert without_comments(text) == "select E'x'\n'y\\'z'  from t"
