"""``pgclinic capture snapshot``: the state of a live server as one file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer


def snapshot(
    dsn: str = typer.Argument(..., help="Connection string or URI of the server."),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the snapshot to FILE, as JSON."
    ),
    observe: str | None = typer.Option(
        None, "--observe", metavar="TIME", help="Watch the server for TIME, such as 30s: waits, locks, and rates."
    ),
    force: bool = typer.Option(False, "--force", help="Replace FILE if it exists."),
    as_json: bool = typer.Option(False, "--json", help="Print the snapshot as JSON."),
) -> None:
    """Record the state of a live server: settings, sessions, locks, tables, indexes, statements, WAL, I/O.

    The server is only read. A role with pg_monitor sees almost everything; what another one may not see is listed.
    """
    from pgclinic.capture.snapshot import take_snapshot
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.lab_output import print_json
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.snapshot_text import snapshot_text
    from pgclinic.store.document import refuse_existing, write_document

    observe_s = 0.0 if observe is None else parse_duration_s(observe, "--observe")
    if output is not None:
        refuse_existing(output, force=force)
    if observe_s:
        print(f"pgclinic: watching the server for {observe_s:g} s", file=sys.stderr)
    taken = take_snapshot(reach_dsn(dsn), observe_s=observe_s)
    if output is not None:
        write_document(output, taken, force=force)
    if as_json:
        print_json(taken)
        return
    print(snapshot_text(taken))
    if output is not None:
        print(f"  file       {output} ({output.stat().st_size / 1e6:.1f} MB)")
