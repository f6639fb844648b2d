"""Chains of row versions inside one page of a table, from the line pointers that pageinspect shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pgclinic.model.pages import HeapFacts

# Line pointer states and tuple bits as PostgreSQL has them in itemid.h and htup_details.h.
_UNUSED, _NORMAL, _REDIRECT, _DEAD = 0, 1, 2, 3
_XMAX_KEYSHR_LOCK, _XMAX_EXCL_LOCK, _XMAX_LOCK_ONLY = 0x0010, 0x0040, 0x0080
_XMAX_COMMITTED, _XMAX_INVALID, _XMAX_IS_MULTI = 0x0400, 0x0800, 0x1000
_XMIN_COMMITTED, _XMIN_INVALID = 0x0100, 0x0200
_HOT_UPDATED, _HEAP_ONLY = 0x4000, 0x8000


@dataclass(frozen=True)
class HeapItem:
    """One line pointer. ``offset`` is where a redirect leads to; the tuple's fields are 0 where there is none.

    ``next_block`` and ``next_item`` are the tuple's t_ctid.
    """

    block: int
    item: int
    offset: int
    flags: int
    xmin: int = 0
    xmax: int = 0
    infomask: int = 0
    infomask2: int = 0
    next_block: int = 0
    next_item: int = 0


@dataclass(frozen=True)
class Chain:
    """What one index entry leads to on a page. ``versions`` are counted from the root on."""

    versions: int
    is_dead: bool
    is_unsure: bool


def page_chains(items: Sequence[HeapItem]) -> list[Chain]:
    """All chains of one page. Versions that nothing leads to, left by an aborted update, belong to none."""
    by_item = {item.item: item for item in items}
    found = []
    for item in items:
        if item.flags == _REDIRECT:
            found.append(_follow(by_item, by_item.get(item.offset)))
        elif item.flags == _NORMAL and not item.infomask2 & _HEAP_ONLY:
            found.append(_follow(by_item, item))
    return found


def heap_facts(pages: Iterable[Sequence[HeapItem]]) -> HeapFacts:
    """Counts over pages. An empty page counts as one without line pointers."""
    states = [0, 0, 0, 0]
    chains: list[Chain] = []
    sampled = 0
    for items in pages:
        sampled += 1
        for item in items:
            states[item.flags] += 1
        chains += page_chains(items)
    hot = [chain.versions for chain in chains if chain.versions > 1]
    return HeapFacts(
        sampled_pages=sampled,
        normal=states[_NORMAL],
        redirect=states[_REDIRECT],
        dead=states[_DEAD],
        unused=states[_UNUSED],
        chains=len(chains),
        hot_chains=len(hot),
        hot_chain_mean=sum(hot) / len(hot) if hot else None,
        hot_chain_max=max(hot, default=0),
        dead_roots=sum(chain.is_dead for chain in chains),
        unsure_roots=sum(chain.is_unsure for chain in chains),
    )


def _follow(by_item: dict[int, HeapItem], item: HeapItem | None) -> Chain:
    """From version to version, as an index scan of the server does; it stops at a link that was broken meanwhile."""
    versions = 0
    last: HeapItem | None = None
    while item is not None and item.flags == _NORMAL and versions <= len(by_item):
        if last is not None and last.xmax != item.xmin and not last.infomask & _XMAX_IS_MULTI:
            break
        versions, last = versions + 1, item
        follows = item.infomask2 & _HOT_UPDATED and not item.infomask & (_XMAX_INVALID | _XMIN_INVALID)
        item = by_item.get(item.next_item) if follows and item.next_block == item.block else None
    if last is None:
        return Chain(versions=0, is_dead=True, is_unsure=False)
    return Chain(versions=versions, is_dead=_is_dead(last), is_unsure=_is_unsure(last))


def _is_ended(item: HeapItem) -> bool:
    """Whether somebody has deleted or replaced this version, and not only locked it."""
    only_locked = item.infomask & _XMAX_LOCK_ONLY or (
        item.infomask & (_XMAX_IS_MULTI | _XMAX_EXCL_LOCK | _XMAX_KEYSHR_LOCK) == _XMAX_EXCL_LOCK
    )
    return bool(item.xmax) and not item.infomask & _XMAX_INVALID and not only_locked


def _is_dead(item: HeapItem) -> bool:
    aborted = item.infomask & _XMIN_INVALID and not item.infomask & _XMIN_COMMITTED
    return bool(aborted) or (_is_ended(item) and bool(item.infomask & _XMAX_COMMITTED))


def _is_unsure(item: HeapItem) -> bool:
    return _is_ended(item) and not _is_dead(item)
