"""``pgclinic lab events``: the log of a server as events."""

from __future__ import annotations

import sys

import typer


def events(
    name: str | None = typer.Argument(None, help="Name of the server; optional if only one runs."),
    follow: bool = typer.Option(False, "-f", "--follow", help="Wait for new events until interrupted."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per line, with all details."),
) -> None:
    """Print vacuums, checkpoints, lock waits, slow statements, plans, errors and crashes from the log of a server."""
    import msgspec

    from pgclinic.cli.lab_output import say_cleaned
    from pgclinic.lab.log_events import LogEvents
    from pgclinic.lab.registry import find
    from pgclinic.report.log_events import counts_line, event_line

    say_cleaned()
    source = LogEvents(find(name))
    for event in source.read(follow=follow):
        print(msgspec.json.encode(event).decode() if as_json else event_line(event), flush=follow)
    print(counts_line(source.counts), file=sys.stderr)
