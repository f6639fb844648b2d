"""Names and constants as SQL has them."""

from __future__ import annotations

import pytest

from pgclinic.sql.quoting import identifier, literal, name_parts, qualified, quoted, unquoted


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("orders", "orders"),
        ("order", '"order"'),
        ("Orders", '"Orders"'),
        ("left", '"left"'),
        ("between", '"between"'),
        ("a b", '"a b"'),
        ('a"b', '"a""b"'),
        ("1a", '"1a"'),
        ("", '""'),
    ],
)
def test_a_name_has_quotes_where_it_needs_them(name: str, written: str) -> None:
    assert identifier(name) == written
    assert unquoted(written) == name


def test_a_qualified_name_comes_apart_into_what_it_was_made_of() -> None:
    assert qualified("Sales", "order") == '"Sales"."order"'
    assert name_parts(qualified("Sales", "order")) == ("Sales", "order")
    assert name_parts("public.Orders") == ("public", "orders")


def test_quotes_are_doubled() -> None:
    assert quoted('a"b') == '"a""b"'
    assert literal("it's") == "'it''s'"


def test_a_backslash_means_itself_whatever_the_server_is_set_to() -> None:
    assert literal("C:\\it's") == "E'C:\\\\it''s'"
