"""Groups of columns of which one index serves several statements."""

from __future__ import annotations

import pytest

from pgclinic.indexes.keys import Groups, columns_of, combined


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        # Fewer columns stand in front, whatever their order.
        ((("a", "b"),), (("b",),), (("b",), ("a",))),
        ((("b",),), (("a", "b"),), (("b",), ("a",))),
        ((("a", "b"),), (("b", "a"),), (("a", "b"),)),
        ((("a", "b"),), (("b",), ("c",)), None),
        # An order behind values serves them too, and not the other way round.
        ((("a",), ("o",)), (("a",),), (("a",), ("o",))),
        ((("a",), ("o",)), (("a", "o"),), (("a",), ("o",))),
        ((("a",), ("o",)), (("a",), ("p",)), None),
        ((("a",), ("o",)), (("a", "b"),), None),
        ((("a",),), (("b",),), None),
    ],
)
def test_one_index_for_two_statements(one: Groups, other: Groups, both: Groups | None) -> None:
    assert combined(one, other) == both


def test_columns_stand_in_the_order_of_their_groups() -> None:
    assert columns_of((("d", "w"), ("o",))) == ("d", "w", "o")
