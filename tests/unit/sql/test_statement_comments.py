"""Comments leave a statement; what only looks like one stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.sql.fingerprint import without_constants
from pgclinic.sql.statement_comments import without_comments
from pgclinic.sql.statement_kind import known_statement


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("select 1 /* user=ann */ from t", "select 1  from t"),
        ("select 1/*x*/from t", "select 1 from t"),
        ("/* a /* b */ secret */ select 1", "select 1"),
        ("select 1 -- ticket 7\nfrom t", "select 1 \nfrom t"),
        ("select 1 from t /*traceparent='00-abc'*/", "select 1 from t"),
        (
            "select '/* no */', $$ -- no $$, \"--no\", E'\\'/* no */'",
            "select '/* no */', $$ -- no $$, \"--no\", E'\\'/* no */'",
        ),
        ("select $tag$ /* no */ $tag$ /* yes */", "select $tag$ /* no */ $tag$"),
        ("select 1 /* cut off", "select 1"),
        ("select 1 --", "select 1"),
        # The server's own, of a list that was longer.
        ("select 1 where x in ($1 /*, ... */) /*, ... ann */", "select 1 where x in ($1 /*, ... */)"),
    ],
)
def test_only_comments_go(text: str, shown: str) -> None:
    assert without_comments(text) == shown


@given(st.text(alphabet="ab*/ \n-'\"$;", max_size=40))
def test_nothing_of_a_comment_is_left(inside: str) -> None:
    balanced = inside.replace("/*", "").replace("*/", "").replace("*", "").replace("/", "")
    assert without_comments(f"select 1 /*SECRET{balanced}SECRET*/ from t") == "select 1  from t"


def test_neither_texts_of_twins_nor_of_snapshots_have_comments() -> None:
    text = "select a /* user=/* x */ann */ from t where b = 'x' -- ann"
    assert "ann" not in known_statement(text).text
    assert "ann" not in without_constants(text)
