"""Memory contexts from the server's log: recorded dumps of 14, 17 and 18 become trees whose sums are the server's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgclinic.model.memory import MemoryContext, changes, leaves_names_out
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.samples.memory_dump import MORE_NAME, context_line, context_tree, grand_total, last_dump

FIXTURES = Path(__file__).parents[2] / "fixtures" / "memory"
PREFIX = "%m [%p] "
TIME = "2026-11-21 10:37:42.703 UTC"
PIDS = {"14": 19390, "17": 19420, "18": 19453}


def recorded(major: str) -> list[str]:
    content = (FIXTURES / f"{major}.txt").read_bytes()
    return list(messages(content, LogDestination.STDERR, pid=PIDS[major], prefix=PREFIX))


def tree(lines: list[str]) -> MemoryContext:
    found = last_dump(lines)
    assert found is not None
    return found[0]


def named(root: MemoryContext, name: str) -> list[MemoryContext]:
    return [context for context in root.walk() if context.name == name]


@pytest.mark.parametrize("major", PIDS)
def test_the_tree_holds_what_the_server_summed_up(major: str) -> None:
    found = last_dump(recorded(major))
    assert found is not None
    root, total = found
    seen = root.sum()
    assert (seen.total_bytes, seen.used_bytes, seen.free_bytes) == (
        total.total_bytes,
        total.used_bytes,
        total.free_bytes,
    )
    assert (seen.blocks, seen.free_chunks) == (total.blocks, total.free_chunks)
    assert total.total_bytes > 3_000_000


@pytest.mark.parametrize("major", PIDS)
def test_contexts_stand_below_their_parents(major: str) -> None:
    root = tree(recorded(major))
    assert root.name == "TopMemoryContext"
    (cache,) = named(root, "CacheMemoryContext")
    assert cache in root.children
    assert {context.name for context in cache.children} >= {"index info", MORE_NAME}
    (portal,) = named(root, "PortalContext")
    assert portal.ident == "c"
    assert [context.name for context in portal.children] == ["ExecutorState"]
    assert any((context.ident or "").endswith("_v_key") for context in named(root, "index info"))


@pytest.mark.parametrize(("major", "hidden"), [("14", 53), ("17", 54), ("18", 56)])
def test_contexts_that_were_only_counted_are_one_child_of_their_parent(major: str, hidden: int) -> None:
    root = tree(recorded(major))
    (more,) = named(root, MORE_NAME)
    assert more.more == hidden
    (cache,) = named(root, "CacheMemoryContext")
    assert cache.children[-1] == more
    assert len(cache.children) == 101, "the server names 100"
    assert root.sum().contexts == len(list(root.walk())) - 1 + hidden
    assert leaves_names_out(root)


@pytest.mark.parametrize(
    ("line", "name", "ident", "free"),
    [
        (
            "level: 1; TupleSort: 65600 total in 3 blocks (7 chunks); 40 free (0 chunks); 65560 used",
            "TupleSort",
            None,
            40,
        ),
        ("level: 2; TXN: 8192 total in 2 blocks; 1 empty blocks; 96 free (2 chunks); 8096 used", "TXN", None, 96),
        ("level: 3; bump: 8192 total in 1 blocks; 7920 free; 272 used", "bump", None, 7920),
        ("level: 1; a: b: 8 total in 1 blocks; 2 free (1 chunks); 6 used: x: y", "a: b", "x: y", 2),
        (
            "level: 1; P: 8 total in 1 blocks; 2 free (1 chunks); 6 used: z: 9 total in 1 blocks; 1 free; 8 used",
            "P",
            "z: 9 total in 1 blocks; 1 free; 8 used",
            2,
        ),
    ],
)
def test_lines_of_every_allocator_are_read(line: str, name: str, ident: str | None, free: int) -> None:
    read = context_line(line)
    assert read is not None
    assert (read.context.name, read.context.ident, read.context.free_bytes) == (name, ident, free)
    assert read.context.used_bytes + read.context.free_bytes == read.context.total_bytes


def test_other_messages_are_no_part_of_a_dump() -> None:
    for text in ("", "logging memory contexts of PID 1", "level: x; A: 1 total", "checkpoint starting: time"):
        assert context_line(text) is None
        assert grand_total(text) is None
    assert last_dump(["level: 0; TopMemoryContext: 8 total in 1 blocks; 2 free (1 chunks); 6 used"]) is None


def test_the_last_complete_dump_counts() -> None:
    one = recorded("14")
    (cut, rest) = (one[:50], one)
    found = last_dump([*cut, *rest])
    assert found is not None
    assert found[0] == tree(one), "a dump that was cut off leaves nothing behind"


def test_a_dump_without_its_beginning_loses_no_bytes() -> None:
    lines = [line for text in recorded("18")[40:-1] if (line := context_line(text)) is not None]
    root = context_tree(lines)
    assert root is not None
    assert root.sum().total_bytes == sum(line.context.total_bytes for line in lines)


def as_csv(lines: list[str], pid: int) -> bytes:
    """As a server writes it: texts in quotes, and those inside doubled."""
    session = f'{TIME},"u","d",{pid},"[local]",5f.1,7,"idle",{TIME},3/7,0'
    texts = (line.replace('"', '""') for line in lines)
    return "".join(f'{session},LOG,00000,"{text}",,,,,,,,,"app","client backend",,0\n' for text in texts).encode()


def as_json(lines: list[str], pid: int) -> bytes:
    """As a server writes it: without spaces between keys and values."""
    fields = {"timestamp": TIME, "pid": pid, "error_severity": "LOG"}
    texts = (json.dumps({**fields, "message": line}, separators=(",", ":")) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


@pytest.mark.parametrize("log_format", [LogDestination.CSV, LogDestination.JSON])
def test_every_format_gives_the_same_tree_of_one_process_alone(log_format: LogDestination) -> None:
    write = as_csv if log_format is LogDestination.CSV else as_json
    ours, others = recorded("18"), recorded("17")
    content = b"".join(
        write([mine], 41) + write([other], 4) + b"no line of this format\n"
        for mine, other in zip(ours, others, strict=True)
    )
    for pid, expected in ((41, ours), (4, others)):
        assert tree(list(messages(content, log_format, pid=pid, prefix=""))) == tree(expected)
    assert list(messages(content, log_format, pid=1, prefix="")) == []


@pytest.mark.parametrize(
    ("prefix", "written"),
    [
        ("%m [%p] ", "2026-11-21 10:37:42.004 UTC [4] "),
        ("%p", "4"),
        ("%-8p %a: ", "4        app: "),
        ("%8p ", "       4 "),
        ("%t:%r:user=%u,db=%d,pid=%p:", "2026-11-21 10:37:42 UTC:[local]:user=u,db=d,pid=4:"),
        ("%%%q%p,%l ", "%4,17 "),
    ],
)
def test_the_process_is_told_by_the_prefix(prefix: str, written: str) -> None:
    line = "LOG:  level: 0; TopMemoryContext: 8 total in 1 blocks; 2 free (1 chunks); 6 used\n"
    content = (written + line).encode()
    assert len(list(messages(content, LogDestination.STDERR, pid=4, prefix=prefix))) == 1
    assert list(messages(content, LogDestination.STDERR, pid=41, prefix=prefix)) == []
    assert list(messages(content, LogDestination.STDERR, pid=2026, prefix=prefix)) == [], "a year is no process"


def test_without_a_process_in_the_prefix_every_line_counts() -> None:
    content = f"{TIME} LOG:  Grand total: 8 bytes in 1 blocks; 2 free (1 chunks); 6 used\n".encode()
    assert len(list(messages(content, LogDestination.STDERR, pid=4, prefix="%m "))) == 1


def test_a_dump_in_the_writing_is_not_taken_for_whole() -> None:
    content = (FIXTURES / "18.txt").read_bytes()
    for cut in (content[:-8], content[: len(content) // 2]):
        assert last_dump(messages(cut, LogDestination.STDERR, pid=PIDS["18"], prefix=PREFIX)) is None


def test_changes_are_told_by_name_the_largest_first() -> None:
    before, after = tree(recorded("14")), tree(recorded("18"))
    found = changes(before, after)
    assert sum(change.grown_bytes for change in found) == after.sum().total_bytes - before.sum().total_bytes
    sizes = [abs(change.grown_bytes) for change in found]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 not in sizes
    assert changes(after, after) == ()
    assert [-change.grown_bytes for change in changes(after, before)] == [change.grown_bytes for change in found]
