"""``pgclinic lab memory``: the memory contexts of one process of a server, once or over time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import AsJson, Html
from pgclinic.cli.options.server import DSN_HELP

if TYPE_CHECKING:
    from pgclinic.model.memory import MemorySnapshot
    from pgclinic.pg.session import Access


def memory(
    pid: Annotated[int, Argument(help="Process id of a backend (pg_stat_activity).")],
    dsn: Annotated[str | None, Argument(help=f"{DSN_HELP[:-1]} [a lab server].", show_default=False)] = None,
    server: Annotated[
        str | None, Option("--server", help="Name of the lab server; optional if only one runs.", metavar="NAME")
    ] = None,
    times: Annotated[int, Option("--times", help="Take N samples and show the changes.", min=1, metavar="N")] = 1,
    every: Annotated[str, Option("--every", help="Time between two samples, such as 2s or 1m.", metavar="TIME")] = "1s",
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Show the memory contexts of a process (PostgreSQL 14 or newer).

    The process writes them to the log of the server, from which they are read.
    """
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.output import print_json
    from pgclinic.report.sections.memory.text import changes_text, heading, sample_text, snapshot_text
    from pgclinic.report.sections.memory.view import render_memory

    every_s = parse_duration_s(every, "--every")
    access = _access(server, dsn)
    version = access.server.version
    found: list[MemorySnapshot] = []
    for snapshot in _samples(access, pid, times, every_s):
        found.append(snapshot)
        if as_json or times == 1:
            continue
        if len(found) == 1:
            print(heading(snapshot, version))
        print(sample_text(snapshot, found[0]), flush=True)
    if html is not None:
        _write(html, render_memory(found, version))
    if as_json:
        print_json(_document(found, version))
    else:
        print(snapshot_text(found[0], version) if times == 1 else changes_text(found))
        if html is not None:
            print(f"  page       {html}")


def _access(name: str | None, dsn: str | None) -> Access:
    from pgclinic.errors import UsageError
    from pgclinic.lab.registry import find
    from pgclinic.lab.sources import attach
    from pgclinic.pg.session import Access

    if dsn is None:
        running = find(name).server
        assert running is not None
        return Access(running)
    if name is not None:
        raise UsageError("--server and a connection string are mutually exclusive")
    return attach(dsn)


def _write(path: Path, text: str) -> None:
    from pgclinic.errors import UsageError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {path} cannot be written: {error.strerror}") from error


def _samples(access: Access, pid: int, times: int, every_s: float) -> Iterator[MemorySnapshot]:
    from pgclinic.observe.memory import MemoryReader

    with MemoryReader(access) as reader:
        due_s = time.monotonic()
        for _ in range(times):
            time.sleep(max(0.0, due_s - time.monotonic()))
            yield reader.of(pid)
            due_s += every_s


def _document(found: list[MemorySnapshot], version: str) -> dict[str, object]:
    """Return what the JSON output says; ``changes`` are those between the first and the last sample."""
    from pgclinic.model.memory import changes

    return {
        "server_version": version,
        "snapshots": [{"total": snapshot.root.sum(), "snapshot": snapshot} for snapshot in found],
        "changes": changes(found[0].root, found[-1].root),
    }
