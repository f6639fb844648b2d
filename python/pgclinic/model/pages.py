"""What the pages of one table and one index look like inside, sampled."""

from __future__ import annotations

from pgclinic.model.record import Record


class Missing(Record):
    """A part of the facts that could not be had. ``part`` is the field, ``reason`` is for the user to read."""

    part: str
    reason: str


class HeapFacts(Record):
    """Counted on the sampled pages of a table.

    Line pointers are ``normal`` (a row version), ``redirect`` (to a later version on the page), ``dead`` (waits for
    VACUUM to remove what the indexes still say about it) or ``unused``.

    A chain is what an index entry leads to on the page: its root and the HOT versions after it; ``hot_chains`` are
    those of at least two versions, ``hot_chain_mean`` and ``hot_chain_max`` count their versions. A chain's end is
    known to be dead when somebody has seen that its deleter committed and has noted it on the page: ``dead_roots`` are
    chains without any version that a new snapshot could see, ``unsure_roots`` those where nobody has noted it yet.
    """

    sampled_pages: int
    normal: int
    redirect: int
    dead: int
    unused: int
    chains: int
    hot_chains: int
    hot_chain_mean: float | None
    hot_chain_max: int
    dead_roots: int
    unsure_roots: int


class IndexFacts(Record):
    """Counted on ``leaf_pages`` sampled leaf pages of a B-tree.

    ``entries`` lead to rows; ``dead_entries`` of them were marked by a scan that found their rows dead (LP_DEAD).
    ``tuples`` are leaf tuples, one of which may hold many entries of one key. ``keys`` are those that end on a sampled
    page, so that one of many pages is counted once; ``entries_per_key`` is an estimate when pages were left out.
    """

    leaf_pages: int
    tuples: int
    entries: int
    dead_entries: int
    keys: int
    entries_per_key: float | None


class MapFacts(Record):
    """The visibility map of the whole table: pages that hold nothing but rows everybody sees, or frozen ones."""

    all_visible_pages: int
    all_frozen_pages: int


class SpaceFacts(Record):
    """The table's space by pgstattuple_approx; shares are of 1. ``scanned_share`` is what it really looked at."""

    scanned_share: float
    live_tuples: int
    dead_tuples: int
    dead_share: float
    free_share: float


class PageFacts(Record):
    """Everything that was found out within the time limit. ``missing`` says why a part is None.

    ``table_pages`` and ``index_pages`` are all pages of the two; ``probe_pages`` those that one run of the probe
    statement visited.
    """

    table: str
    table_pages: int
    elapsed_s: float
    index: str | None = None
    index_pages: int | None = None
    heap: HeapFacts | None = None
    leaves: IndexFacts | None = None
    visibility: MapFacts | None = None
    space: SpaceFacts | None = None
    probe_pages: int | None = None
    missing: tuple[Missing, ...] = ()
