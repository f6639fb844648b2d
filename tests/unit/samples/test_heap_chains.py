"""Chains of row versions inside a page, and what a sample of pages is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.observe.pages import leaf_facts, sample_blocks
from pgclinic.samples.heap_chains import Chain, HeapItem, heap_facts, page_chains

UNUSED, NORMAL, REDIRECT, DEAD = 0, 1, 2, 3
XMAX_INVALID, XMAX_COMMITTED, XMIN_COMMITTED, XMIN_INVALID = 0x0800, 0x0400, 0x0100, 0x0200
LOCK_ONLY, EXCLUSIVE = 0x0080, 0x0040
HOT_UPDATED, HEAP_ONLY = 0x4000, 0x8000


def live(item: int, *, xmin: int = 10, heap_only: bool = False) -> HeapItem:
    return HeapItem(
        block=7,
        item=item,
        offset=8000,
        flags=NORMAL,
        xmin=xmin,
        infomask=XMAX_INVALID | XMIN_COMMITTED,
        infomask2=HEAP_ONLY if heap_only else 0,
        next_block=7,
        next_item=item,
    )


def replaced(
    item: int, by: int, *, xmin: int = 10, xmax: int, heap_only: bool = False, block: int = 7, noted: bool = True
) -> HeapItem:
    hot = HOT_UPDATED if block == 7 else 0
    return HeapItem(
        block=7,
        item=item,
        offset=8000,
        flags=NORMAL,
        xmin=xmin,
        xmax=xmax,
        infomask=XMIN_COMMITTED | (XMAX_COMMITTED if noted else 0),
        infomask2=hot | (HEAP_ONLY if heap_only else 0),
        next_block=block,
        next_item=by,
    )


def pointer(item: int, flags: int, to: int = 0) -> HeapItem:
    return HeapItem(block=7, item=item, offset=to, flags=flags)


def test_versions_on_one_page_are_one_chain() -> None:
    page = [
        replaced(1, 2, xmax=11),
        replaced(2, 3, xmin=11, xmax=12, heap_only=True),
        live(3, xmin=12, heap_only=True),
        live(4),
    ]
    assert page_chains(page) == [
        Chain(versions=3, is_dead=False, is_unsure=False),
        Chain(versions=1, is_dead=False, is_unsure=False),
    ]


def test_a_redirect_is_a_root_without_a_version() -> None:
    page = [pointer(1, REDIRECT, to=3), pointer(2, DEAD), live(3, heap_only=True), pointer(4, UNUSED)]
    assert page_chains(page) == [Chain(versions=1, is_dead=False, is_unsure=False)]
    facts = heap_facts([page])
    assert (facts.normal, facts.redirect, facts.dead, facts.unused) == (1, 1, 1, 1)
    assert (facts.chains, facts.hot_chains, facts.hot_chain_mean) == (1, 0, None)


def test_a_chain_whose_last_version_moved_to_another_page_is_a_dead_root() -> None:
    page = [replaced(1, 2, xmax=11), replaced(2, 5, xmin=11, xmax=12, heap_only=True, block=8)]
    assert page_chains(page) == [Chain(versions=2, is_dead=True, is_unsure=False)]


def test_an_end_that_nobody_has_noted_yet_is_unsure() -> None:
    page = [replaced(1, 9, xmax=11, block=8, noted=False)]
    assert page_chains(page) == [Chain(versions=1, is_dead=False, is_unsure=True)]


def test_a_row_that_is_only_locked_lives() -> None:
    locked = HeapItem(7, 1, 8000, NORMAL, 10, 11, XMIN_COMMITTED | XMAX_COMMITTED | LOCK_ONLY | EXCLUSIVE, 0, 7, 1)
    assert page_chains([locked]) == [Chain(versions=1, is_dead=False, is_unsure=False)]


def test_an_insert_that_was_rolled_back_is_dead() -> None:
    aborted = HeapItem(7, 1, 8000, NORMAL, 10, 0, XMIN_INVALID | XMAX_INVALID, 0, 7, 1)
    assert page_chains([aborted]) == [Chain(versions=1, is_dead=True, is_unsure=False)]


def test_a_slot_that_was_used_again_does_not_lengthen_the_chain() -> None:
    page = [replaced(1, 2, xmax=11), live(2, xmin=99, heap_only=True)]
    assert page_chains(page) == [Chain(versions=1, is_dead=True, is_unsure=False)]


def test_counts_are_over_all_pages() -> None:
    long = [replaced(1, 2, xmax=11), live(2, xmin=11, heap_only=True)]
    longer = [
        replaced(1, 2, xmax=11),
        replaced(2, 3, xmin=11, xmax=12, heap_only=True),
        replaced(3, 4, xmin=12, xmax=13, heap_only=True),
        live(4, xmin=13, heap_only=True),
    ]
    facts = heap_facts([long, longer, []])
    assert (facts.sampled_pages, facts.chains, facts.hot_chains) == (3, 2, 2)
    assert (facts.hot_chain_mean, facts.hot_chain_max, facts.dead_roots) == (3.0, 4, 0)


ITEMS = st.builds(
    HeapItem,
    block=st.just(7),
    item=st.integers(1, 12),
    offset=st.integers(0, 12),
    flags=st.integers(0, 3),
    xmin=st.integers(0, 3),
    xmax=st.integers(0, 3),
    infomask=st.integers(0, 0xFFFF),
    infomask2=st.integers(0, 0xFFFF),
    next_block=st.integers(6, 7),
    next_item=st.integers(0, 12),
)


@given(st.lists(ITEMS, unique_by=lambda item: item.item))
def test_any_page_even_one_with_circles_is_counted(items: list[HeapItem]) -> None:
    facts = heap_facts([items])
    assert facts.normal + facts.redirect + facts.dead + facts.unused == len(items)
    assert facts.dead_roots + facts.unsure_roots <= facts.chains <= facts.normal + facts.redirect
    assert facts.hot_chain_max <= len(items) + 1


@given(st.integers(0, 5000), st.integers(0, 300), st.integers(0, 2))
def test_a_sample_is_spread_evenly_over_all_pages(pages: int, wanted: int, first: int) -> None:
    blocks = sample_blocks(pages, wanted, first=first)
    assert len(blocks) == len(set(blocks)) == min(pages, wanted)
    assert all(first <= block < first + pages for block in blocks)
    gaps = {later - earlier for earlier, later in pairwise(blocks)}
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert sorted(blocks) == list(blocks)


def test_a_key_that_goes_on_on_the_next_page_is_counted_where_it_ends() -> None:
    rows = [
        (1, "aa", False, 2, 300, 5),
        (1, "bb", False, 1, 100, 0),
        (1, "bb", True, 1, 1, 0),  # the high key says: more of bb follows
        (2, "bb", False, 3, 500, 0),
        (2, "cc", True, 1, 1, 0),
        (3, "cc", False, 1, 100, 0),
    ]
    facts = leaf_facts(rows)
    assert (facts.leaf_pages, facts.tuples, facts.entries, facts.dead_entries, facts.keys) == (3, 7, 1000, 5, 3)
    assert facts.entries_per_key == 1000 / 3


def test_an_empty_leaf_has_no_keys() -> None:
    facts = leaf_facts([(1, None, False, 0, 1, 0)])
    assert (facts.leaf_pages, facts.entries, facts.keys, facts.entries_per_key) == (1, 0, 0, None)
