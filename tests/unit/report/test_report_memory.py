"""The memory of a process as text and as a page: every figure is the tree's, and nothing in a title becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from pgclinic.model.memory import MemoryContext, MemorySnapshot, MemorySource, ProcessMemory
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.report.sections.memory.groups import DEPTH_MAX, grouped, signed_size, size
from pgclinic.report.sections.memory.icicle import icicle
from pgclinic.report.sections.memory.text import changes_text, sample_text, snapshot_text
from pgclinic.report.sections.memory.view import render_memory
from pgclinic.samples.memory_dump import last_dump

FIXTURES = Path(__file__).parents[2] / "fixtures" / "memory"
HOSTILE = 'postgres: <script>alert(1)</script> "db" [local] idle'


def context(name: str, own: int, *children: MemoryContext) -> MemoryContext:
    return MemoryContext(
        name=name,
        total_bytes=own,
        used_bytes=own // 2,
        free_bytes=own - own // 2,
        blocks=1,
        free_chunks=1,
        children=children,
    )


def small(cache: int = 600) -> MemoryContext:
    info = [context("index info", 50), context("index info", 50)]
    return context("TopMemoryContext", 200, context("CacheMemoryContext", cache, *info), context("MessageContext", 100))


def snapshot(root: MemoryContext, at_s: float = 1_795_258_400.0, *, local: bool = True) -> MemorySnapshot:
    return MemorySnapshot(
        pid=4711,
        at_s=at_s,
        source=MemorySource.LOG,
        root=root,
        title=HOSTILE if local else None,
        process=ProcessMemory(rss_anon_bytes=3 << 20, pss_bytes=5 << 20) if local else None,
    )


def recorded() -> MemoryContext:
    lines = messages((FIXTURES / "18.txt").read_bytes(), LogDestination.STDERR, pid=19453, prefix="%m [%p] ")
    found = last_dump(lines)
    assert found is not None
    return found[0]


class Balanced(HTMLParser):
    """Complains about an element that is closed by another's end."""

    EMPTY = frozenset({"meta", "link", "br", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1024, "1 kB"),
        (98_304, "96.0 kB"),
        (1_887_437, "1.8 MB"),
        (-2048, "-2 kB"),
        (3 << 30, "3 GB"),
    ],
)
def test_sizes_are_told_as_postgresql_counts_them(amount: int, words: str) -> None:
    assert size(amount) == words
    assert signed_size(amount) == (f"+{words}" if amount > 0 else words)


def test_siblings_of_one_name_stand_together() -> None:
    top = grouped(small())
    assert (top.total_bytes, top.own_bytes, [child.name for child in top.children]) == (
        1000,
        200,
        ["CacheMemoryContext", "MessageContext"],
    )
    (info,) = top.children[0].children
    assert (info.name, info.contexts, info.total_bytes, info.depth) == ("index info", 2, 100, 2)


def test_slabs_are_as_wide_as_their_share() -> None:
    picture = icicle(small())
    assert [(slab.label, slab.left, slab.width, slab.top // 34) for slab in picture.slabs] == [
        ("TopMemoryContext", 0.0, 100.0, 0),
        ("CacheMemoryContext", 0.0, 70.0, 1),
        ("index info", 0.0, 10.0, 2),
        ("MessageContext", 70.0, 10.0, 1),
    ]
    assert picture.height == 3 * 34
    assert picture.slabs[2].text == "index info: 100 B in 2 contexts"
    assert {slab.tone for slab in picture.slabs} == {"same"}
    assert "CacheMemoryContext with 700 B" in picture.description
    assert [row[0].strip() for row in picture.rows] == [slab.label for slab in picture.slabs]


def test_an_earlier_tree_colours_what_changed() -> None:
    tones = {slab.label: slab.tone for slab in icicle(small(900), before=small()).slabs}
    assert tones == {
        "TopMemoryContext": "same",
        "CacheMemoryContext": "grown",
        "index info": "same",
        "MessageContext": "same",
    }
    assert [slab.tone for slab in icicle(small(300), before=small()).slabs][1] == "shrunk"


def test_an_empty_context_and_a_deep_tree_have_pictures() -> None:
    assert icicle(context("empty", 0)).slabs == ()
    deep = context("leaf", 1)
    for _ in range(50):
        deep = context("deep", 1, deep)
    assert icicle(deep).height == DEPTH_MAX * 34


def test_the_page_holds_the_figures_and_asks_the_network_for_nothing() -> None:
    page = render_memory([snapshot(recorded())], "18.6")
    assert "3.6 MB in 190" in page
    assert page.count("<svg ") > 5
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", page)
    assert "default-src 'none'" in page
    assert "What changed" not in page
    assert "more child contexts" in page


def test_the_page_is_well_formed_and_escapes_what_others_wrote() -> None:
    root = context('<b>"x"</b>', 10, context("&amp;", 90))
    page = render_memory([snapshot(root), snapshot(small(), 1_795_258_410.0)], "18.6")
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    # Our own, and none of theirs.
    assert page.count("<script") == 1 and "b" in reader.seen
    assert "&lt;script&gt;alert(1)" in page
    assert "&amp;amp;" in page
    assert "10.0" in page and "What changed" in page


def test_a_series_shows_what_grew_and_what_shrank() -> None:
    first, last = snapshot(small()), snapshot(small(900), 1_795_258_402.0)
    text = changes_text([first, last])
    assert "grew       +300 B   CacheMemoryContext   600 B in 1 -> 900 B in 1" in text
    assert "shrank" not in text
    assert "shrank" in changes_text([last, first])
    assert changes_text([first, first]).strip() == "no context changed in size"
    assert sample_text(last, first).endswith("+300 B")
    page = render_memory([first, last], "18.6")
    assert "Grew, by name" in page and "Shrank, by name" not in page


def test_the_text_shows_the_tree_down_to_one_per_cent() -> None:
    text = snapshot_text(snapshot(recorded()), "18.6")
    lines = text.splitlines()
    assert lines[1] == "  contexts   3.6 MB in 190 contexts: 1.9 MB used, 1.6 MB free"
    assert lines[2] == "  process    RssAnon 3 MB, Pss 5 MB"
    assert any(re.search(r"B\s+100\s+index info$", line) for line in lines)
    assert re.search(r"and \d+ names below 1 % each$", text)


def test_lost_lines_are_told() -> None:
    lossy = msgspec.structs.replace(snapshot(small()), unread_bytes=4096)
    assert "4 kB: lines of the dump were lost" in snapshot_text(lossy, "18.6")
    assert "4 kB: lines of the dump were lost" in render_memory([lossy], "18.6")
    assert "were lost" not in snapshot_text(snapshot(small()), "18.6")


def test_a_server_elsewhere_has_no_process_to_show() -> None:
    text = snapshot_text(snapshot(small(), local=False), "18.6")
    assert "RssAnon" not in text
    assert "RssAnon" not in render_memory([snapshot(small(), local=False)], "18.6")


def test_snapshots_can_be_stored() -> None:
    made = snapshot(recorded())
    assert msgspec.json.decode(msgspec.json.encode(made), type=MemorySnapshot) == made
