"""Which updates an index keeps from being HOT."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.advised import calibrated_of, index, twin_of
from pgclinic.advise.hot_updates import HotUpdates
from pgclinic.model.advise import IndexDefinition
from pgclinic.model.twin import TwinIndex

TWIN = twin_of(
    "update orders set status = $1 where id = $2",
    "update orders set note = $1 where id = $2",
    "select id from orders where customer = $1",
    indexes=(TwinIndex(name="public.orders_note_idx", method="btree", keys=("lower(note)",)),),
)


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (index("customer"), 100.0),
        (index("status"), 0.0),
        (index("customer", include=("status",)), 0.0),
        (index("customer", predicate="status = 5"), 0.0),
        (index("(status + 1)"), 0.0),
        (index("status", method="brin"), 100.0),
        (index("order_id", table="public.line"), 0.0),
    ],
)
def test_an_index_on_a_column_that_an_update_assigns(made: IndexDefinition, after: float) -> None:
    """Updates of the note are none that could be HOT before: an expression has it."""
    before = 0.0 if made.table == "public.line" else 100.0
    assert HotUpdates(TWIN, calibrated_of(TWIN)).without_and_with(made) == (before, after)


def test_brin_keeps_updates_from_being_hot_before_16() -> None:
    older = replace(TWIN, version_num=150004)
    assert HotUpdates(older, calibrated_of(older)).without_and_with(index("status", method="brin")) == (100.0, 0.0)
