"""The memory of a process as one self-contained HTML file: an icicle, what changed, and the same as tables."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.memory import ContextChange, MemorySnapshot, changes, leaves_names_out
from pgclinic.report.html import html_page
from pgclinic.report.sections.memory.groups import NAMES_LEFT_OUT, signed_size, size
from pgclinic.report.sections.memory.icicle import icicle
from pgclinic.report.words.facts import utc_words


def render_memory(snapshots: Sequence[MemorySnapshot], server_version: str) -> str:
    """The page for one process; with more than one snapshot, oldest first, also what changed from first to last."""
    first, last = snapshots[0], snapshots[-1]
    several = len(snapshots) > 1
    changed = changes(first.root, last.root) if several else ()
    return html_page(
        "sections/memory/page",
        kind="memory",
        when=utc_words(last.at_s),
        source="the samples of the process",
        files=("sections/memory/style.css",),
        pid=last.pid,
        facts=fact_rows(last, server_version),
        picture=icicle(last.root, before=first.root if several else None),
        over_s=last.at_s - first.at_s,
        several=several,
        times=[time_row(snapshot, first) for snapshot in snapshots],
        grown=[change_row(change) for change in changed if change.grown_bytes > 0],
        shrunk=[change_row(change) for change in changed if change.grown_bytes < 0],
        note=NAMES_LEFT_OUT if any(leaves_names_out(each.root) for each in (first, last)) else "",
    )


def fact_rows(snapshot: MemorySnapshot, server_version: str) -> tuple[tuple[str, str], ...]:
    """What the process is, and its memory as the server and the kernel count it."""
    total = snapshot.root.sum()
    rows = [
        ("Process", snapshot.title or str(snapshot.pid)),
        ("Server", f"PostgreSQL {server_version}"),
        ("Memory contexts", f"{size(total.total_bytes)} in {total.contexts:,}"),
        ("Used", f"{size(total.used_bytes)}; {size(total.free_bytes)} free"),
    ]
    if snapshot.unread_bytes:
        rows.append(("Not read", f"{size(snapshot.unread_bytes)}: lines of the dump were lost"))
    if snapshot.process is not None:
        rows.append(("Private memory (RssAnon)", size(snapshot.process.rss_anon_bytes)))
        if snapshot.process.pss_bytes is not None:
            rows.append(("Proportional memory (Pss)", size(snapshot.process.pss_bytes)))
    return tuple(rows)


def time_row(snapshot: MemorySnapshot, first: MemorySnapshot) -> tuple[str, ...]:
    """One snapshot in a table over time: second, contexts, total, used, private memory, change since the first."""
    total = snapshot.root.sum()
    rss = "-" if snapshot.process is None else size(snapshot.process.rss_anon_bytes)
    grown = total.total_bytes - first.root.sum().total_bytes
    return (
        f"{snapshot.at_s - first.at_s:.1f}",
        f"{total.contexts:,}",
        size(total.total_bytes),
        size(total.used_bytes),
        rss,
        signed_size(grown),
    )


def change_row(change: ContextChange) -> tuple[str, ...]:
    """One name in the table of changes: name, change, bytes before and after, contexts before and after."""
    return (
        change.name,
        signed_size(change.grown_bytes),
        size(change.before_bytes),
        size(change.after_bytes),
        f"{change.before_contexts:,}",
        f"{change.after_contexts:,}",
    )
