"""Names of new indexes."""

from __future__ import annotations

from pgclinic.indexes.naming import index_name


def test_a_name_is_that_of_postgresql() -> None:
    assert index_name("orders", ("customer_id", '"Placed At"'), frozenset()) == "orders_customer_id_Placed_At_idx"
    assert index_name("orders", ("(lower(email))",), frozenset()) == "orders_lower_email_idx"


def test_a_taken_name_gets_a_number() -> None:
    taken = {"t_a_idx", "t_a_idx2"}
    assert index_name("t", ("a",), taken) == "t_a_idx3"


def test_a_name_fits_into_63_bytes() -> None:
    name = index_name("t" * 60, ("ä" * 60,), frozenset())
    assert len(name.encode()) <= 63
    assert name.endswith("_idx")
