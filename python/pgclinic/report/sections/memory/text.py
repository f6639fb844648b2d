"""The memory of a process as text for the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pgclinic.model.memory import MemorySnapshot, changes, leaves_names_out
from pgclinic.report.sections.memory.groups import NAMES_LEFT_OUT, ContextGroup, grouped, signed_size, size
from pgclinic.report.words.figures import count

#: Contexts below this share of the whole are summed up in one line.
_SHARE_MIN = 0.01
_CHANGES_MAX = 10


def snapshot_text(snapshot: MemorySnapshot, server_version: str) -> str:
    """One sample: the process, its sums, and the tree down to one per cent."""
    top = grouped(snapshot.root)
    shown = [group for group in top.walk() if group.total_bytes >= _SHARE_MIN * top.total_bytes]
    rows = [(size(group.total_bytes), size(group.used_bytes), f"{group.contexts:,}", _name(group)) for group in shown]
    lines = [
        heading(snapshot, server_version),
        f"  contexts   {_sums(snapshot)}",
        *_process_lines(snapshot),
        *(
            [f"  unread     {size(snapshot.unread_bytes)}: lines of the dump were lost"]
            if snapshot.unread_bytes
            else []
        ),
        "",
        f"  {'TOTAL':>9}  {'USED':>9}  {'NUMBER':>7}  CONTEXT",
        *(f"  {total:>9}  {used:>9}  {contexts:>7}  {name}" for total, used, contexts, name in rows),
    ]
    hidden = sum(1 for _ in top.walk()) - len(shown)
    if hidden:
        lines.append(f"  and {count(hidden, 'name')} below 1 % each")
    return "\n".join(lines)


def heading(snapshot: MemorySnapshot, server_version: str) -> str:
    """Which process of which server."""
    title = f"   {snapshot.title}" if snapshot.title else ""
    return f"process {snapshot.pid}{title}   PostgreSQL {server_version}"


def sample_text(snapshot: MemorySnapshot, first: MemorySnapshot) -> str:
    """One of several samples, as one line."""
    at = time.strftime("%H:%M:%S", time.localtime(snapshot.at_s))
    total = snapshot.root.sum()
    rss = "" if snapshot.process is None else f"   RssAnon {size(snapshot.process.rss_anon_bytes)}"
    grown = total.total_bytes - first.root.sum().total_bytes
    return f"  {at}   {_sums(snapshot)}{rss}   {signed_size(grown)}"


def changes_text(snapshots: Sequence[MemorySnapshot]) -> str:
    """What grew and what shrank between the first and the last sample."""
    first, last = snapshots[0], snapshots[-1]
    changed = changes(first.root, last.root)
    if not changed:
        return "  no context changed in size"
    lines = []
    for word, sign in (("grew", 1), ("shrank", -1)):
        some = [change for change in changed if change.grown_bytes * sign > 0]
        lines += [
            f"  {word if index == 0 else '':<7}{signed_size(change.grown_bytes):>10}   {change.name}   "
            f"{size(change.before_bytes)} in {change.before_contexts:,} -> {size(change.after_bytes)} "
            f"in {change.after_contexts:,}"
            for index, change in enumerate(some[:_CHANGES_MAX])
        ]
        if len(some) > _CHANGES_MAX:
            lines.append(f"  {'':<7}and {count(len(some) - _CHANGES_MAX, 'more name')}")
    if leaves_names_out(first.root) or leaves_names_out(last.root):
        lines.append(f"  note: {NAMES_LEFT_OUT}")
    return "\n".join(lines)


def _name(group: ContextGroup) -> str:
    return "  " * group.depth + group.name


def _sums(snapshot: MemorySnapshot) -> str:
    total = snapshot.root.sum()
    return (
        f"{size(total.total_bytes)} in {total.contexts:,} contexts: "
        f"{size(total.used_bytes)} used, {size(total.free_bytes)} free"
    )


def _process_lines(snapshot: MemorySnapshot) -> list[str]:
    if snapshot.process is None:
        return []
    parts = [f"RssAnon {size(snapshot.process.rss_anon_bytes)}"]
    if snapshot.process.pss_bytes is not None:
        parts.append(f"Pss {size(snapshot.process.pss_bytes)}")
    return [f"  process    {', '.join(parts)}"]
