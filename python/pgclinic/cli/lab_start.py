"""``pgclinic lab start``: a server of any version, empty or with a twin in it, that outlives the command."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from pgclinic.cli.lab import LabStartRequest
from pgclinic.cli.lab_output import describe, instance_row, progress_line
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.output import print_json
from pgclinic.cli.twin_run import built_twin
from pgclinic.errors import UsageError
from pgclinic.lab.cluster import SUPERUSER
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.settings.words import parse_settings
from pgclinic.twin.author import AUTHOR


def start_lab_server(request: LabStartRequest) -> int:
    """Start the server, print where it is, leave it running, and return the exit code."""
    twin = request.twin
    if twin is None and request.scale != 1.0:
        raise UsageError("--scale needs --twin")
    settings = parse_settings(request.settings)
    say_cleaned()
    with progress_line() as on_progress:
        binaries = find_source(request.server.version, request.server.bindir).ensure(on_progress)
        template, of_twin = (None, {}) if twin is None else built_twin(binaries, twin, request.scale, on_progress)
    # The superuser of a twin would run what somebody else wrote.
    user = SUPERUSER if twin is None else AUTHOR
    running = start_server(
        binaries, settings=of_twin | settings, template=template, name=request.name, port=request.port, user=user
    )
    try:
        instance = replace(running.instance, detached=True)
        if request.as_json:
            print_json(instance_row(instance))
        else:
            print(describe(instance))
        # A server whose name was never printed would run until somebody finds it.
        sys.stdout.flush()
        running.detach()
    except BaseException:
        running.stop()
        raise
    return 0
