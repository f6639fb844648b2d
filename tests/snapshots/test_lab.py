"""What ``lab`` prints: servers, what was cleaned up, log events, the memory of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.server_logs import FILES, events_of
from fixtures.snapshots import Snapshots
from pgclinic.cli.lab_output import describe, instance_row, table
from pgclinic.cli.leftovers import cleaned_words
from pgclinic.lab.orphan_cleanup import Cleaned
from pgclinic.lab.registry import Instance
from pgclinic.model.log import LogCounts
from pgclinic.model.memory import MemorySnapshot, MemorySource, ProcessMemory
from pgclinic.model.server import Server
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.report.sections.memory.text import changes_text, heading, sample_text, snapshot_text
from pgclinic.report.words.log_events import counts_line, event_line
from pgclinic.samples.memory_dump import last_dump

SERVER = Server(
    name="quick-otter",
    source="embedded",
    version="18.6",
    version_num=180006,
    host="/nowhere/sockets",
    port=5432,
    user="postgres",
    database="postgres",
)
INSTANCE = Instance(
    name="quick-otter",
    version="18.6",
    directory="/nowhere/instances/quick-otter",
    socket_dir="/nowhere/sockets",
    boot="boot",
    owner_pid=1,
    owner_start=1,
    created_epoch_s=1_795_176_000.0,
    detached=True,
    pid=4711,
    pid_start=1,
    server=SERVER,
)


def _servers() -> str:
    row = instance_row(INSTANCE)
    listed = table(("NAME", "VERSION", "STATE", "DSN"), [(row["name"], row["version"], row["state"], row["dsn"])])
    return "\n\n".join([describe(INSTANCE), listed])


def _cleaned() -> str:
    server = Cleaned(kind="server", name="quick-otter", reason="its command was killed", bytes=40_000_000, processes=7)
    template = replace(server, kind="template", name="18.6-abc", reason="half-built", processes=0)
    return "\n".join(cleaned_words(one) for one in (server, template))


def _log_events() -> str:
    """One event of every kind, out of the newest log that has it."""
    lines: dict[str, str] = {}
    for path in FILES:
        for event in events_of(path):
            lines[type(event).__name__] = event_line(event)
    counts = LogCounts(bytes_read=10, events=0, not_understood=4, unparsed=5, undated=6)
    kinds = [f"{name}: {lines[name]}" for name in sorted(lines)]
    return "\n".join([*kinds, counts_line(LogCounts(bytes_read=2048, events=3)), counts_line(counts)])


def _memory_of_a_backend() -> MemorySnapshot:
    """A dump that a server of version 18 wrote."""
    text = (Path(__file__).parents[1] / "fixtures" / "memory" / "18.txt").read_bytes()
    found = last_dump(messages(text, LogDestination.STDERR, pid=19453, prefix="%m [%p] "))
    assert found is not None
    return MemorySnapshot(
        pid=19453,
        at_s=1_795_258_400.0,
        source=MemorySource.LOG,
        root=found[0],
        title="postgres: app shop [local] idle",
        process=ProcessMemory(rss_anon_bytes=3 << 20, pss_bytes=5 << 20),
        unread_bytes=4096,
    )


def _memory() -> str:
    first = _memory_of_a_backend()
    root = replace(first.root, total_bytes=first.root.total_bytes + 65_536)
    last = replace(first, at_s=first.at_s + 2, root=root)
    looks = [heading(first, "18.6"), sample_text(first, first), sample_text(last, first), changes_text([first, last])]
    return "\n".join([snapshot_text(first, "18.6"), "", *looks, changes_text([first, first])])


TEXTS: dict[str, Callable[[], str]] = {
    "servers": _servers,
    "cleaned": _cleaned,
    "log-events": _log_events,
    "memory": _memory,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, snapshots: Snapshots) -> None:
    snapshots.check(name, TEXTS[name]())


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(TEXTS))
