"""Output of ``pgclinic lab``: tables, one server, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pgclinic.cli.output import say
from pgclinic.lab.binaries import FetchProgress, OnProgress
from pgclinic.lab.clone import megabytes
from pgclinic.lab.postmaster import answers
from pgclinic.lab.registry import Instance
from pgclinic.pg.dsn import dsn_of
from pgclinic.report.parts.visible import write_own


def instance_row(instance: Instance) -> dict[str, Any]:
    """Return one server as the JSON output has it."""
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
    """Return a new server as ``lab start`` prints it."""
    row = instance_row(instance)
    lines = [
        f"{row['name']}   PostgreSQL {row['version']} ({row['source']})",
        f"  dsn    {row['dsn']}",
        f"  psql   {row['psql']}",
        f"  stop   pgclinic lab stop {row['name']}",
    ]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows with columns as wide as their widest cell, the last one as it is."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


@contextmanager
def progress_line() -> Iterator[OnProgress]:
    """Give a listener that shows progress on stderr: one line that is overwritten on a terminal, else one per step."""
    terminal = sys.stderr.isatty()
    last = ""

    def show(progress: FetchProgress) -> None:
        nonlocal last
        if terminal:
            text = progress.what + _amount(progress)
            write_own(sys.stderr, "\r")
            print(f"{text:<78}", end="", file=sys.stderr, flush=True)
        elif progress.what != last:
            say(f"pgclinic: {progress.what}")
        last = progress.what

    try:
        yield show
    finally:
        if terminal and last:
            write_own(sys.stderr, f"\r{'':<78}\r")
            sys.stderr.flush()


def _amount(progress: FetchProgress) -> str:
    if progress.total_bytes:
        share = 100 * progress.done_bytes // progress.total_bytes
        return f"   {megabytes(progress.done_bytes)} of {megabytes(progress.total_bytes)}, {share} %"
    return ""


def _dsn(instance: Instance) -> str:
    """Return the address by TCP, with the file that holds its password, when the server has a port; else its socket."""
    assert instance.server is not None
    passwords = Path(instance.directory) / "pgpass"
    if passwords.exists():
        server = msgspec.structs.replace(instance.server, host="127.0.0.1", parameters={"passfile": str(passwords)})
        return dsn_of(server)
    return dsn_of(instance.server)
