"""``pgclinic capture twin``: schema, statistics and workload of a database, without its data."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

DSN_HELP = "Connection string or URI of the server, such as postgres://user@host/database."


def twin(
    dsn: str = typer.Argument(help=DSN_HELP),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="FILE", help="Default: DATABASE.twin."),
    tables: list[str] = typer.Option(
        [], "--tables", metavar="NAME", help="Only this table, or those that a pattern with * names; may be repeated."
    ),
    with_values: bool = typer.Option(
        False, "--with-values", help="Keep the values in the statistics as they are. Default: masked."
    ),
    observe: str | None = typer.Option(
        None, "--observe", metavar="TIME", help="Count statements for TIME, such as 10m. Default: since the last reset."
    ),
    force: bool = typer.Option(False, "--force", help="Replace the file if it exists."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Capture schema, planner statistics and workload of a database, to rebuild it without its data."""
    from pgclinic.capture.twin import capture_twin
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.lab_output import print_json
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.capture_text import masked_text, twin_summary, twin_text
    from pgclinic.store.document import refuse_existing
    from pgclinic.twin.file import write_twin
    from pgclinic.twin.mask import mask_twin

    observe_s = 0.0 if observe is None else parse_duration_s(observe, "--observe")
    if output is not None:
        refuse_existing(output, force=force)
    if observe_s:
        print(f"pgclinic: counting statements for {observe_s:g} s", file=sys.stderr)
    captured = capture_twin(reach_dsn(dsn), tables=tables, observe_s=observe_s)
    if not with_values:
        captured = mask_twin(captured)
    path = output if output is not None else Path(f"{captured.database.replace('/', '_')}.twin")
    write_twin(path, captured, masked_text=masked_text(captured), force=force)
    if as_json:
        print_json(twin_summary(captured, path))
    else:
        print(twin_text(captured, path))
