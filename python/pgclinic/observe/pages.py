"""What the pages of a table and its index look like inside: sampled, within a time limit, and never changed.

Everything comes from extensions of PostgreSQL itself, and most of it is for superusers alone. What cannot be had is
told with its reason instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pgclinic.errors import UsageError
from pgclinic.model.pages import HeapFacts, IndexFacts, MapFacts, Missing, PageFacts, SpaceFacts
from pgclinic.observe.probe import visit_pages
from pgclinic.pg.extension_schemas import extension_schemas, in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.samples.heap_chains import HeapItem, heap_facts

EXTENSIONS = ("pageinspect", "pgstattuple", "pg_visibility")
_TABLE_KINDS = ("r", "m", "t")
_INDEX_KIND = "i"
_TRIES = 3
#: Pages of one statement: few enough to end in time, enough to make its round trip cheap.
_BATCH_PAGES = 32
#: Shares of the time limit at which a part ends, so that a large table leaves time for the others.
_HEAP_UNTIL, _INDEX_UNTIL = 0.5, 0.8
_TIMED_OUT = "57014"
_NO_SUCH_THING = ("42883", "42703")

_T = TypeVar("_T")


def page_facts(
    access: Access,
    table: str,
    index: str | None = None,
    *,
    limit_s: float = 5.0,
    sample_pages: int = 256,
    probe: str | None = None,
    may_create: bool = False,
) -> PageFacts:
    """Look into at most ``sample_pages`` pages of ``table`` and as many of its B-tree ``index``, spread evenly.

    ``probe`` is a statement whose visited pages are counted; it is run. With ``may_create`` missing extensions are
    created: for databases of our own. Raises UsageError for names that are no table or no index of it, and for a
    server before 13; QueryError when the limit does not even allow to find them.
    """
    with Session(access, statement_timeout_ms=round(limit_s * 1000), application_name="pgclinic-pages") as session:
        return _TableLook(access, session, table, limit_s, sample_pages).facts(index, probe, may_create=may_create)


class _TableLook:
    """One look at a table: the session, the time that is left, and what could not be had so far."""

    def __init__(self, access: Access, session: Session, table: str, limit_s: float, sample_pages: int) -> None:
        self._access = access
        self._session = session
        self._table = table
        self._sample_pages = sample_pages
        self._limit_s = limit_s
        self._began_s = time.monotonic()
        self._missing: list[Missing] = []
        self._schemas: dict[str, str] = {}

    def facts(self, index: str | None, probe: str | None, *, may_create: bool) -> PageFacts:
        table_name, table_pages = self._find(self._table, _TABLE_KINDS)
        index_name, index_pages = self._find(index, (_INDEX_KIND,)) if index is not None else (None, None)
        reasons = self._prepare_extensions(may_create=may_create)
        visibility = self._part("visibility", reasons["pg_visibility"], lambda: self._visibility(table_name))
        probe_pages = self._part("probe_pages", None, lambda: self._probe(probe)) if probe is not None else None
        heap = self._part("heap", reasons["pageinspect"], lambda: self._heap(table_name, table_pages))
        leaves = None
        if index_name is not None and index_pages is not None:
            pages = index_pages
            leaves = self._part("leaves", reasons["pageinspect"], lambda: self._leaves(index_name, pages))
        space = self._part("space", reasons["pgstattuple"], lambda: self._space(table_name))
        return PageFacts(
            table=self._table,
            table_pages=table_pages,
            index=index,
            index_pages=index_pages,
            heap=heap,
            leaves=leaves,
            visibility=visibility,
            space=space,
            probe_pages=probe_pages,
            missing=tuple(self._missing),
            elapsed_s=time.monotonic() - self._began_s,
        )

    def _find(self, name: str, kinds: tuple[str, ...]) -> tuple[str, int]:
        """The full name of a relation and its pages. Raises UsageError."""
        for _ in range(_TRIES):
            with self._session.users_search_path():
                relation, table = self._oid(name), self._oid(self._table)
            rows = self._session.rows(
                query("pages_relation", self._access.major), {"relation": relation, "table": table}
            )
            # A table that another has just taken the place of has no size; the name then means the other one.
            if not rows or rows[0][3] is not None:
                break
        else:
            raise UsageError(f"{name} was dropped while it was looked at")
        what = "an index" if kinds == (_INDEX_KIND,) else "a table"
        if not rows or rows[0][1] not in kinds:
            partitioned = bool(rows) and rows[0][1] in ("p", "I")
            hint = "it is partitioned, name one of its partitions" if partitioned else None
            raise UsageError(f"{name} is not {what} of this database", hint=hint)
        full_name, _, method, pages, belongs = rows[0]
        if belongs is False:
            raise UsageError(f"{name} is not an index of {self._table}")
        if what == "an index" and method != "btree":
            raise UsageError(f"{name} is a {method} index; pgclinic looks into B-trees")
        return str(full_name), int(pages)

    def _oid(self, name: str) -> int | None:
        oid: int | None = self._session.row(query("relation_oid", self._access.major), {"name": name})[0]
        return oid

    def _prepare_extensions(self, *, may_create: bool) -> dict[str, str | None]:
        """Why each extension cannot be used, None for one that can; the schemas of those are known from here on."""
        reasons: dict[str, str | None] = {}
        if may_create:
            for name in EXTENSIONS:
                try:
                    # Of a database of our own, where a study finds the extension's functions in public.
                    self._session.execute(f"create extension if not exists {name} schema public")
                except QueryError as error:
                    reasons[name] = f"the extension {name} cannot be created: {error.message.splitlines()[0]}"
        available = {name for (name,) in self._session.rows(query("pages_extensions", self._access.major))}
        self._schemas = extension_schemas(self._session, self._access.major)
        for name in EXTENSIONS:
            if name in self._schemas:
                reasons[name] = None
            elif name not in available:
                reasons[name] = f"the server does not have the extension {name}; it comes with PostgreSQL's contrib"
            else:
                reasons.setdefault(name, f"the extension {name} is not installed: create extension {name}")
        return reasons

    def _part(self, name: str, reason: str | None, look: Callable[[], _T]) -> _T | None:
        """One part of the facts, or None with its reason."""
        if reason is None:
            left_s = self._left_s(1.0)
            try:
                if left_s > 0:
                    self._limit(left_s)
                    return look()
                reason = f"the {self._limit_s:g} s were over before"
            except QueryError as error:
                reason = _words(error, left_s)
        self._missing.append(Missing(part=name, reason=reason))
        return None

    def _heap(self, table: str, pages: int) -> HeapFacts:
        sql = self._named(query("pages_heap", self._access.major))
        rows = self._batches(sql, table, sample_blocks(pages, self._sample_pages), _HEAP_UNTIL)
        by_block: dict[int, list[HeapItem]] = {}
        for block, item, *fields in rows:
            items = by_block.setdefault(block, [])
            if item is not None:
                items.append(HeapItem(block, item, *(field or 0 for field in fields)))
        return heap_facts(by_block.values())

    def _leaves(self, index: str, pages: int) -> IndexFacts:
        # Page 0 describes the tree.
        blocks = sample_blocks(pages - 1, self._sample_pages, first=1)
        sql = self._named(query("pages_index", self._access.major))
        return leaf_facts(self._batches(sql, index, blocks, _INDEX_UNTIL))

    def _batches(self, sql: str, relation: str, blocks: Sequence[int], until: float) -> Iterable[tuple[Any, ...]]:
        """The rows of a query over all blocks, or over as many as there is time for; those are still spread evenly."""
        count = -(-len(blocks) // _BATCH_PAGES)
        for batch in range(count):
            # At least one batch, whatever the parts before have taken.
            if batch and self._left_s(until) <= 0:
                return
            self._limit(self._left_s(1.0))
            try:
                rows = self._session.rows(sql, {"name": relation, "blocks": list(blocks[batch::count])})
            except QueryError as error:
                if batch and error.sqlstate == _TIMED_OUT:
                    return
                raise
            yield from rows

    def _named(self, text: str) -> str:
        """The text of a query with the schemas of the extensions."""
        return in_schemas(text, self._schemas)

    def _visibility(self, table: str) -> MapFacts:
        visible, frozen = self._session.row(self._named(query("pages_visibility", self._access.major)), {"name": table})
        return MapFacts(all_visible_pages=visible, all_frozen_pages=frozen)

    def _space(self, table: str) -> SpaceFacts:
        sql = self._named(query("pages_space", self._access.major))
        scanned, live, dead, dead_percent, free_percent = self._session.row(sql, {"name": table})
        return SpaceFacts(
            scanned_share=scanned / 100,
            live_tuples=round(live),
            dead_tuples=dead,
            dead_share=dead_percent / 100,
            free_share=free_percent / 100,
        )

    def _probe(self, statement: str) -> int:
        # The statement is run twice and explained.
        seen = visit_pages(self._access, statement, timeout_ms=round(self._left_s(1.0) * 1000 / 3))
        if seen.pages is None:
            raise QueryError("the probe took too long", sqlstate="57014")
        return seen.pages

    def _left_s(self, until: float) -> float:
        return self._began_s + until * self._limit_s - time.monotonic()

    def _limit(self, left_s: float) -> None:
        # 0 would mean no limit.
        self._session.execute(f"set statement_timeout = {max(1, round(left_s * 1000))}")


def sample_blocks(pages: int, wanted: int, *, first: int = 0) -> tuple[int, ...]:
    """At most ``wanted`` of the blocks ``first`` to ``first + pages - 1``, spread evenly; all when they are few."""
    if pages <= 0 or wanted <= 0:
        return ()
    if pages <= wanted:
        return tuple(range(first, first + pages))
    return tuple(first + (2 * number + 1) * pages // (2 * wanted) for number in range(wanted))


def leaf_facts(rows: Iterable[tuple[Any, ...]]) -> IndexFacts:
    """Counts over leaf pages from rows of page, key, whether it is the high key, tuples, entries, dead entries.

    A page whose high key is one of its own keys is not the last one that holds this key.
    """
    keys: dict[int, set[str]] = {}
    high_keys: dict[int, str] = {}
    tuples = entries = dead_entries = 0
    for block, key, is_high, of_key, entries_of_key, dead_of_key in rows:
        on_page = keys.setdefault(block, set())
        if is_high:
            high_keys[block] = key
        elif of_key:
            on_page.add(key)
            tuples, entries, dead_entries = tuples + of_key, entries + entries_of_key, dead_entries + dead_of_key
    ending = sum(len(on_page) - (high_keys.get(block) in on_page) for block, on_page in keys.items())
    return IndexFacts(
        leaf_pages=len(keys),
        tuples=tuples,
        entries=entries,
        dead_entries=dead_entries,
        keys=ending,
        entries_per_key=entries / max(ending, 1) if entries else None,
    )


def _words(error: QueryError, left_s: float) -> str:
    if error.sqlstate == _TIMED_OUT:
        return f"it took longer than the {left_s:.2g} s that were left"
    first_line = error.message.splitlines()[0]
    if error.sqlstate in _NO_SUCH_THING:
        return f"{first_line}; the extension may be older than the server: alter extension ... update"
    return first_line
