"""``pgclinic capture``: snapshot, horizon and twin of a server that is only read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from pgclinic.cli.options.export import AsJson, Force, Html, JsonFile
from pgclinic.cli.options.server import Dsn

capture_app = typer.Typer(
    help="Record a live server: its state, how long its xmin horizon is held, or a twin. The server is only read.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@capture_app.command("snapshot")
def snapshot(
    dsn: Dsn,
    output: JsonFile = None,
    observe: Annotated[
        str | None,
        Option("--observe", help="Observe the server for TIME, such as 30s: waits, locks, and rates.", metavar="TIME"),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Record the state of a live server: settings, sessions, locks, tables, indexes, statements, WAL, I/O.

    The server is only read. A role with pg_monitor sees almost everything; what another one may not see is listed.
    """
    from pgclinic.capture.snapshot import take_snapshot
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.output import print_json
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.sections.snapshot.text import snapshot_text
    from pgclinic.store.document import refuse_existing, write_document

    observe_s = 0.0 if observe is None else parse_duration_s(observe, "--observe")
    if output is not None:
        refuse_existing(output, force=force)
    if observe_s:
        print(f"pgclinic: observing the server for {observe_s:g} s", file=sys.stderr)
    taken = take_snapshot(reach_dsn(dsn), observe_s=observe_s)
    if output is not None:
        write_document(output, taken, force=force)
    if as_json:
        print_json(taken)
        return
    print(snapshot_text(taken))
    if output is not None:
        print(f"  file       {output} ({output.stat().st_size / 1e6:.1f} MB)")


@capture_app.command("horizon")
def horizon(
    dsn: Dsn,
    for_: Annotated[str, Option("--for", help="How long to record, such as 10m, 1h or 24h.", metavar="TIME")] = "1h",
    every: Annotated[str, Option("--every", help="Time between two samples.", metavar="TIME")] = "1s",
    output: JsonFile = None,
    html: Html = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Record how long transactions, slots and standbys hold the xmin horizon, as a series and a distribution.

    The server is only read. Ctrl-C ends the recording early; what was recorded is kept.
    """
    from pgclinic.cli.capture_horizon import HorizonFiles, record_horizon
    from pgclinic.cli.duration import parse_duration_s

    for_s, every_s = parse_duration_s(for_, "--for"), parse_duration_s(every, "--every")
    files = HorizonFiles(output, html, force)
    raise typer.Exit(record_horizon(dsn, for_s=for_s, every_s=every_s, files=files, as_json=as_json))


@capture_app.command("twin")
def twin(
    dsn: Dsn,
    output: Annotated[
        Path | None, Option("-o", "--output", help="Write the twin to FILE [DATABASE.twin].", metavar="FILE")
    ] = None,
    tables: Annotated[
        list[str] | None,
        Option("--tables", help="Only this table, or those that a pattern with * names; repeatable.", metavar="NAME"),
    ] = None,
    with_values: Annotated[
        bool, Option("--with-values", help="Keep the values in the statistics as they are [masked].")
    ] = False,
    observe: Annotated[
        str | None,
        Option("--observe", help="Count statements for TIME, such as 10m [since the last reset].", metavar="TIME"),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Capture schema, planner statistics and workload of a database, to rebuild it without its data."""
    from pgclinic.capture.twin import capture_twin
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.output import print_json
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.sections.capture.text import masked_text, twin_summary, twin_text
    from pgclinic.store.document import refuse_existing
    from pgclinic.twin.file import write_twin
    from pgclinic.twin.mask import mask_twin

    observe_s = 0.0 if observe is None else parse_duration_s(observe, "--observe")
    if output is not None:
        refuse_existing(output, force=force)
    if observe_s:
        print(f"pgclinic: counting statements for {observe_s:g} s", file=sys.stderr)
    captured = capture_twin(reach_dsn(dsn), tables=tables or (), observe_s=observe_s)
    if not with_values:
        captured = mask_twin(captured)
    path = output if output is not None else Path(f"{captured.database.replace('/', '_')}.twin")
    write_twin(path, captured, masked_text=masked_text(captured), force=force)
    if as_json:
        print_json(twin_summary(captured, path))
    else:
        print(twin_text(captured, path))
