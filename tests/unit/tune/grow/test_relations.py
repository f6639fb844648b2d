"""What tables and indexes weigh at the target, and when they outgrow the buffers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.growth import TO, built_relations, shop_twin
from pgclinic.model.grow import RelationKind
from pgclinic.tune.grow.relations import grown_relations, working_set


def test_what_grows_is_ten_times_as_large_and_what_is_kept_is_not() -> None:
    found = {one.name: one for one in grown_relations(shop_twin(), built_relations(), TO, {"orders"})}
    assert found["public.orders"].bytes == 800 * 8192
    assert found["public.orders"].bytes_at_to == pytest.approx(8000 * 8192)
    assert found["public.country"].bytes_at_to == 8192
    assert found["public.orders_pkey"].kind is RelationKind.INDEX
    assert [one.name for one in found.values() if one.is_visited] == ["public.orders"]
    assert next(iter(found)) == "public.orders"


def test_the_originals_size_counts_and_the_twins_growth() -> None:
    """The original is bloated: its index has twice the pages of the twin's."""
    twin = shop_twin()
    orders = twin.tables[2]
    bloated = replace(orders, indexes=(replace(orders.indexes[0], pages=340),))
    twin = replace(twin, tables=(*twin.tables[:2], bloated))
    found = {one.name: one for one in grown_relations(twin, built_relations(), TO, ())}
    assert found["public.orders_pkey"].bytes == 340 * 8192
    assert found["public.orders_pkey"].bytes_at_to == pytest.approx(3400 * 8192)


def test_one_size_alone_shows_no_growth() -> None:
    built = {1.0: built_relations()[1.0]}
    assert all(one.bytes_at_to == one.bytes for one in grown_relations(shop_twin(), built, TO, ()))


def test_the_working_set_leaves_the_buffers_at_a_size() -> None:
    twin = shop_twin()
    relations = grown_relations(twin, built_relations(), TO, {"orders", "orders_pkey"})
    seen = working_set(twin, relations, TO, 64e9)
    assert seen is not None
    assert seen.now_bytes == 970 * 8192
    assert seen.at_to_bytes == pytest.approx(9700 * 8192)
    assert seen.shared_buffers_bytes == 128 * 2**20
    # 970 pages times this are the 16,384 pages of 128 MB.
    assert seen.leaves_buffers_at == pytest.approx(16_384 / 970, rel=1e-6)
    assert seen.leaves_memory_at == pytest.approx(64e9 / (970 * 8192), rel=1e-6)
    set_ = replace(twin, settings={"shared_buffers": "4MB"})
    less = working_set(set_, relations, TO, None)
    assert less is not None
    assert less.leaves_buffers_at is not None
    assert less.leaves_buffers_at < 1
    assert less.leaves_memory_at is None


def test_nothing_visited_is_no_working_set() -> None:
    relations = grown_relations(shop_twin(), built_relations(), TO, ())
    assert working_set(shop_twin(), relations, TO, None) is None
