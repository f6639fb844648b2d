"""``pgclinic capture horizon``: how long a live server's xmin horizon is held, and by whom."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pgclinic.cli.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from pgclinic.capture.horizon import HorizonRecorder

#: A line of progress at most so often, in seconds.
_SAY_EVERY_S = 60.0


def horizon(
    dsn: str = typer.Argument(..., help="Connection string or URI of the server."),
    for_: str = typer.Option("1h", "--for", metavar="TIME", help="How long to record, such as 10m, 1h or 24h."),
    every: str = typer.Option("1s", "--every", metavar="TIME", help="Time between two samples."),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the recording to FILE, as JSON."
    ),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Write an HTML page with the picture."),
    force: bool = typer.Option(False, "--force", help="Replace files that exist."),
    as_json: bool = typer.Option(False, "--json", help="Print the recording as JSON."),
) -> None:
    """Record how long transactions, slots and standbys hold the xmin horizon, as a series and a distribution.

    The server is only read. Ctrl-C ends the recording early; what was recorded is kept.
    """
    from pgclinic.capture.horizon import HorizonRecorder
    from pgclinic.cli.duration import parse_duration_s
    from pgclinic.cli.lab_output import print_json
    from pgclinic.pg.reach import reach_dsn
    from pgclinic.report.horizon_page import render_horizon
    from pgclinic.report.horizon_text import horizon_text
    from pgclinic.store.document import refuse_existing, write_document, write_new

    for_s, every_s = parse_duration_s(for_, "--for"), parse_duration_s(every, "--every")
    for path in (output, html):
        if path is not None:
            refuse_existing(path, force=force)
    recorder = HorizonRecorder(reach_dsn(dsn), for_s=for_s, every_s=every_s)
    interrupted = _run(recorder, for_s, output, force=force)
    recording = recorder.recording()
    if output is not None:
        # It is there already, as far as it was recorded.
        write_document(output, recording, force=True)
    if html is not None:
        write_new(html, render_horizon(recording).encode(), force=force)
    if as_json:
        print_json(recording)
    else:
        print(horizon_text(recording))
        for name, path in (("file", output), ("page", html)):
            if path is not None:
                print(f"  {name:<10} {path}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _run(recorder: HorizonRecorder, for_s: float, output: Path | None, *, force: bool) -> bool:
    """Record to the end, or to Ctrl-C: then True. What was recorded is written once a minute."""
    from pgclinic.cli.duration import in_words
    from pgclinic.model.horizon import HorizonPoint
    from pgclinic.report.horizon_text import point_words
    from pgclinic.store.document import write_document

    said_s = -_SAY_EVERY_S

    def say(point: HorizonPoint) -> None:
        nonlocal said_s
        if point.at_s - said_s >= _SAY_EVERY_S:
            if output is not None:
                write_document(output, recorder.recording(), force=force or said_s >= 0)
            said_s = point.at_s
            print(
                f"pgclinic: {in_words(point.at_s)} of {in_words(for_s)}: {point_words(point)}",
                file=sys.stderr,
                flush=True,
            )

    try:
        recorder.run(say)
    except KeyboardInterrupt:
        return True
    return False
