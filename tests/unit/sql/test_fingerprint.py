"""Fingerprints of statements, with PostgreSQL's own parser and without it."""

from __future__ import annotations

import sys

import pytest

from pgclinic.model.statement import FingerprintMethod
from pgclinic.sql import fingerprint as module
from pgclinic.sql.fingerprint import fingerprint, fingerprint_method, normalised

BOTH = pytest.mark.parametrize("method", list(FingerprintMethod))

SAME = [
    ("update a set b = b + -5 where c = 3", "UPDATE a SET b = b + 4711 WHERE c = 1.5e3"),
    ("update a set b = b + -5 where c = 3", "update a set b = b + :delta where c = :id;"),
    ("select b from a where c = 'it''s' and d = 1", "select b from a where c = $1 and d = $2"),
    ("select b /* why */ from a -- here\n where c = E'\\'x'", "select b from a where c = $tag$ 'y' $tag$"),
    ("select b from a where c in (1, 2, 3)", "select b from a where c in (7)"),
    ("select b from a where c = -1", "select b from a where c = 1"),
]
DIFFERENT = [
    ("select b from a where c = 1", "select b from a2 where c = 1"),
    ("select b from a where c = 1", "select b from a where c > 1"),
    ("select b - 1 from a", "select b + 1 from a"),
    ('select "B" from a', "select b from a"),
    ("begin", "commit"),
]


@BOTH
@pytest.mark.parametrize(("one", "other"), SAME)
def test_constants_comments_and_case_do_not_count(method: FingerprintMethod, one: str, other: str) -> None:
    assert fingerprint(one, method) == fingerprint(other, method)


@BOTH
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_everything_else_counts(method: FingerprintMethod, one: str, other: str) -> None:
    assert fingerprint(one, method) != fingerprint(other, method)


def test_the_parser_sees_through_what_is_only_written_otherwise() -> None:
    one, other = "select b from a where (c = 1)", "select b from a where c = 1"
    assert fingerprint(one, FingerprintMethod.PARSER) == fingerprint(other, FingerprintMethod.PARSER)
    assert fingerprint(one, FingerprintMethod.WORDS) != fingerprint(other, FingerprintMethod.WORDS)


def test_casts_slices_and_names_that_hold_a_colon_are_no_variables() -> None:
    assert normalised("select a::int, b[1:2], ':c' from \"d:e\"") == 'select a :: int , b [ ? : ? ] , ? from "d:e"'


def test_a_text_that_was_cut_off_is_told_by_its_words() -> None:
    cut = "select b from a where c = 1 and"
    assert fingerprint(cut) == fingerprint("SELECT b FROM a WHERE c = 22 AND")
    assert fingerprint(cut).startswith("w")


@pytest.mark.parametrize("text", ["", ";", "'", "$$", "/*", "\0", "\ud800", "select '", "(" * 3000, "- - 1"])
@BOTH
def test_any_text_has_a_fingerprint(method: FingerprintMethod, text: str) -> None:
    assert fingerprint(text, method)


def test_without_a_parser_words_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "postgast", None)
    module._parser.cache_clear()
    try:
        assert fingerprint_method() is FingerprintMethod.WORDS
        assert fingerprint("select 1") == fingerprint("select 2") == fingerprint("select 1", FingerprintMethod.WORDS)
    finally:
        monkeypatch.undo()
        module._parser.cache_clear()
    assert fingerprint_method() is FingerprintMethod.PARSER
