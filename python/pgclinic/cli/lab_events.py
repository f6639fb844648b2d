"""``pgclinic lab events``: what a server's log says, as events."""

from __future__ import annotations

import sys

import typer


def events(
    name: str | None = typer.Argument(None, help="Which one; may be left out when only one runs."),
    follow: bool = typer.Option(False, "-f", "--follow", help="Go on until interrupted."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a line, with everything that was logged."),
) -> None:
    """Vacuums, checkpoints, lock waits, slow statements, plans, errors and crashes, out of the server's log."""
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
