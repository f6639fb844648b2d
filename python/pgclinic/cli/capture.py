"""``pgclinic capture``: recordings of a live server, which is only read."""

from __future__ import annotations

import typer

from pgclinic.cli.capture_horizon import horizon
from pgclinic.cli.capture_snapshot import snapshot
from pgclinic.cli.capture_twin import twin

capture_app = typer.Typer(
    help="Record a live server: its state, how long its xmin horizon is held, or a twin. The server is only read.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
capture_app.command("snapshot")(snapshot)
capture_app.command("horizon")(horizon)
capture_app.command("twin")(twin)
