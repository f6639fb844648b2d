"""Keys of CREATE INDEX, columns of its conditions, and columns that a write assigns."""

from __future__ import annotations

import pytest

from pgclinic.sql.index_text import assigned_columns, columns_named, index_keys


def test_keys_have_their_operator_class_and_order() -> None:
    text = (
        'CREATE INDEX i ON public.t USING btree (a, "B" text_pattern_ops, lower(c) DESC, d NULLS FIRST, '
        "e DESC NULLS LAST) INCLUDE (f) WHERE (g > 1)"
    )
    assert index_keys(text) == ("a", '"B" text_pattern_ops', "(lower(c)) desc", "d nulls first", "e desc nulls last")


@pytest.mark.parametrize("text", ["alter table t add primary key (a)", "create index on", "select 1"])
def test_what_is_no_create_index_has_no_keys(text: str) -> None:
    assert index_keys(text) is None


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("update t set a = $1, b = b + 1 where c = $2", {"a", "b"}),
        ("insert into t values ($1) on conflict (c) do update set d = $1", {"d"}),
        ("insert into t values ($1)", set()),
        ("delete from t where a = $1", set()),
        ("update t set", set()),
    ],
)
def test_columns_that_a_write_assigns(text: str, columns: set[str]) -> None:
    assert assigned_columns(text) == columns


def test_columns_in_keys_and_conditions() -> None:
    assert columns_named(("a", '"B" text_pattern_ops', "(lower(c))", "(d IS NULL AND t.e > 1)", "(")) == {
        "a",
        "B",
        "c",
        "d",
        "e",
    }
