"""SQL on a page: what is shown is the text as it stands, and nothing of it becomes markup."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgclinic.report.parts.sql import HIGHLIGHTED_MAX, highlighted

STATEMENT = (
    "select count(*), 'it''s' from \"select\" -- all\nwhere id = :id and n > 1.5 and x = $1;\n\\set id random(1, 10)"
)


def spans(text: str) -> list[tuple[str, str]]:
    found = re.findall(r'<span class="(\w+)">(.*?)</span>', highlighted(text), re.DOTALL)
    return [(name, unescape(part)) for name, part in found]


def plain(text: str) -> str:
    return unescape(re.sub(r'</?span(?: class="\w+")?>', "", highlighted(text)))


def test_each_kind_of_word_has_its_class() -> None:
    found = {part: name for name, part in spans(STATEMENT)}
    assert {part: found.get(part) for part in ("select", "'it''s'", "-- all\n", "where", ":id", "1.5", "$1")} == {
        "select": "kw",
        "'it''s'": "str",
        "-- all\n": "com",
        "where": "kw",
        ":id": "var",
        "1.5": "num",
        "$1": "var",
    }
    # Neither a name in quotes nor a command of pgbench is SQL's own word.
    assert '"select"' not in found
    assert "set" not in found
    assert "1" not in found


def test_names_that_are_words_of_sql_elsewhere_have_no_colour() -> None:
    text = "create index i on audit.event (customer_id) include (name, state); select name, date from public.table"
    words = {word for _, part in spans(text) for word in part.split()}
    assert words == {"create", "index", "on", "include", "select", "from"}


def test_words_beside_each_other_share_a_span() -> None:
    assert spans("order by id") == [("kw", "order by")]
    assert spans("create index concurrently i on t (a)")[0] == ("kw", "create index concurrently")


@pytest.mark.parametrize("evil", ["<script>", "'</code><script>alert(1)</script>'", "-- <img src=x>", '"<b>" & 1'])
def test_nothing_of_a_statement_becomes_markup(evil: str) -> None:
    shown = highlighted(f"select * from {evil}")
    assert set(re.findall(r"<[^>]*>", shown)) <= {"</span>", *(f'<span class="{name}">' for name in CLASSES)}
    assert plain(f"select * from {evil}") == f"select * from {evil}"


CLASSES = ("kw", "str", "num", "com", "var")


@given(
    st.one_of(
        st.text(max_size=80),
        st.lists(
            st.sampled_from(["select ", "'", "$$", '"', "--", "/*", "*/", ":a", "$1", "\n", "\\set", " ", "<b>", "E'"]),
            max_size=25,
        ).map("".join),
    )
)
@example("\r\nselect 1\r\n\n")
@example(" \n \\set a 1\nselect '\n\\sleep 1\n'")
def test_what_is_shown_is_the_text_as_it_stands(text: str) -> None:
    assert plain(text) == text


def test_a_text_too_long_to_be_read_by_colours_has_none() -> None:
    long = "select <1>;" * (HIGHLIGHTED_MAX // 10)
    assert highlighted(long) == long.replace("<", "&lt;").replace(">", "&gt;")
