"""Dumps of memory contexts, whatever they look like: nothing is raised, and no byte is lost or counted twice."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.model.memory import MemoryContext, changes
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.report.sections.memory.icicle import icicle
from pgclinic.samples.memory_dump import DumpedContext, context_line, context_tree, grand_total, last_dump

NAMES = st.sampled_from(["TopMemoryContext", "index info", "CacheMemoryContext", "a: b"])


def context(name: str, used: int, free: int, more: int = 0) -> MemoryContext:
    return MemoryContext(
        name=name, total_bytes=used + free, used_bytes=used, free_bytes=free, blocks=1, free_chunks=free % 7, more=more
    )


CONTEXTS = st.builds(context, NAMES, st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.sampled_from([0, 0, 0, 5]))
LINES = st.lists(st.builds(DumpedContext, level=st.integers(0, 9), context=CONTEXTS), max_size=60)
TREES = LINES.filter(bool).map(context_tree)


@given(st.lists(st.text()))
def test_any_message_is_read_without_complaint(texts: list[str]) -> None:
    for text in texts:
        assert context_line(text) is None or text.startswith("level: ")
        assert grand_total(text) is None or text.startswith("Grand total: ")
    last_dump(texts)


@given(st.binary(), st.sampled_from(LogDestination), st.text(), st.integers(1, 1 << 22))
def test_any_bytes_are_read_without_complaint(
    content: bytes, log_format: LogDestination, prefix: str, pid: int
) -> None:
    assert last_dump(messages(content, log_format, pid=pid, prefix=prefix)) is None


@given(LINES)
def test_every_line_becomes_one_context(lines: list[DumpedContext]) -> None:
    root = context_tree(lines)
    if root is None:
        assert lines == []
        return
    assert len(list(root.walk())) == len(lines)
    assert root.sum().total_bytes == sum(line.context.total_bytes for line in lines)
    assert root.sum().free_chunks == sum(line.context.free_chunks for line in lines)


@given(TREES, TREES)
def test_changes_add_up_to_the_whole_change(before: MemoryContext, after: MemoryContext) -> None:
    whole = after.sum().total_bytes - before.sum().total_bytes
    assert sum(change.grown_bytes for change in changes(before, after)) == whole


@given(TREES)
def test_in_the_picture_children_stay_inside_their_parents(root: MemoryContext) -> None:
    picture = icicle(root)
    rows: dict[int, list[tuple[float, float]]] = {}
    for slab in picture.slabs:
        assert slab.width > 0
        rows.setdefault(slab.top, []).append((slab.left, slab.left + slab.width))
    for top, spans in rows.items():
        for (_, end), (start, _) in pairwise(spans):
            assert end <= start + 0.01, "slabs of one row do not overlap"
        if top:
            above = rows[top - 34]
            assert all(any(low - 0.01 <= start and end <= high + 0.01 for low, high in above) for start, end in spans)


def test_a_deep_tree_is_no_trouble() -> None:
    lines = [DumpedContext(level=level, context=context("deep", 1, 0)) for level in range(3000)]
    root = context_tree(lines)
    assert root is not None
    assert root.sum().total_bytes == 3000
    assert len({slab.top for slab in icicle(root).slabs}) == 12
