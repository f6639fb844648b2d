"""Output of ``pgclinic lab``: tables, one server, progress, and what was cleaned up."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pgclinic.lab.binaries import OnProgress, Progress
from pgclinic.lab.clone import megabytes
from pgclinic.lab.orphan_cleanup import Cleaned, Kept, clean_up_orphans
from pgclinic.lab.postmaster import answers
from pgclinic.lab.registry import Instance
from pgclinic.pg.dsn import dsn_of
from pgclinic.report.visible import write_own


def print_json(value: Any) -> None:
    print(msgspec.json.encode(value).decode())


def say_cleaned() -> None:
    """Clean up after killed commands and report it on stderr."""
    for found in clean_up_orphans():
        print(f"pgclinic: {cleaned_words(found)}", file=sys.stderr)


def cleaned_words(cleaned: Cleaned | Kept) -> str:
    """One line per object that was removed, or that could not be."""
    if isinstance(cleaned, Kept):
        return cleaned.words
    if cleaned.kind != "server":
        return f"removed the {cleaned.reason} {cleaned.kind} {cleaned.name} ({megabytes(cleaned.bytes)})"
    ended = f", ended its {cleaned.processes} processes" if cleaned.processes else ""
    return f"removed the server {cleaned.name} ({cleaned.reason}){ended}, freed {megabytes(cleaned.bytes)}"


def instance_row(instance: Instance) -> dict[str, Any]:
    """One server in the JSON output."""
    assert instance.server is not None
    dsn = _dsn(instance)
    return {
        "name": instance.name,
        "version": instance.version,
        "source": instance.server.source,
        "state": "running" if answers(instance.server) else "not answering",
        "dsn": dsn,
        "pid": instance.pid,
        "log": str(instance.log_path),
        "detached": instance.detached,
        "psql": f"pgclinic lab psql {instance.name}",
    }


def describe(instance: Instance) -> str:
    """The new server as ``lab start`` prints it."""
    row = instance_row(instance)
    lines = [
        f"{row['name']}   PostgreSQL {row['version']} ({row['source']})",
        f"  dsn    {row['dsn']}",
        f"  psql   {row['psql']}",
        f"  stop   pgclinic lab stop {row['name']}",
    ]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, the last one as it is."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


@contextmanager
def progress_line() -> Iterator[OnProgress]:
    """A line on stderr that is overwritten on a terminal; elsewhere one line per step."""
    terminal = sys.stderr.isatty()
    last = ""

    def show(progress: Progress) -> None:
        nonlocal last
        if terminal:
            text = progress.what + _amount(progress)
            write_own(sys.stderr, "\r")
            print(f"{text:<78}", end="", file=sys.stderr, flush=True)
        elif progress.what != last:
            print(f"pgclinic: {progress.what}", file=sys.stderr)
        last = progress.what

    try:
        yield show
    finally:
        if terminal and last:
            write_own(sys.stderr, f"\r{'':<78}\r")
            sys.stderr.flush()


def _amount(progress: Progress) -> str:
    if progress.total_bytes:
        share = 100 * progress.done_bytes // progress.total_bytes
        return f"   {megabytes(progress.done_bytes)} of {megabytes(progress.total_bytes)}, {share} %"
    return ""


def _dsn(instance: Instance) -> str:
    """By TCP, with the file that holds its password, when the server has a port; else by its socket."""
    assert instance.server is not None
    passwords = Path(instance.directory) / "pgpass"
    if passwords.exists():
        server = msgspec.structs.replace(instance.server, host="127.0.0.1", parameters={"passfile": str(passwords)})
        return dsn_of(server)
    return dsn_of(instance.server)
