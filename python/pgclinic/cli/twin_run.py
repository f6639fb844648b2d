"""A twin in the lab: ``pgclinic twin check``, and the data directory for ``pgclinic lab start --twin``."""

from __future__ import annotations

from pathlib import Path

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.lab_output import progress_line
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.output import print_json, say
from pgclinic.cli.twin import TwinCheckRequest
from pgclinic.experiment.twin_check import CheckRequest, check_twin, known_settings
from pgclinic.lab.binaries import Binaries, FetchProgress, OnProgress
from pgclinic.lab.sources import find_source
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.sections.twin.text import fidelity_text, refusal_words
from pgclinic.trial.server import template_of
from pgclinic.twin.build import Built
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import keep_twin

#: A check has failed.
_FAILED = 3


def run_twin_check(request: TwinCheckRequest) -> int:
    """Check a twin, print how closely it matches its original, and return the exit code."""
    server = request.server
    check = CheckRequest(
        seconds=parse_duration_s(request.time, "--time"),
        clients=request.clients,
        scale=request.scale,
        rate_tps=request.rate,
    )
    version = server.version
    if version is None and server.bindir is None:
        version = str(read_twin(request.file).version_num // 10_000)
    original = reach_dsn(request.against) if request.against is not None else None
    say_cleaned()
    with progress_line() as on_progress:
        fidelity = check_twin(
            request.file,
            find_source(version, server.bindir).ensure(on_progress),
            check,
            against=original,
            on_stage=lambda stage: on_progress(FetchProgress(what=stage, done_bytes=0)),
        ).fidelity
    if request.as_json:
        print_json(fidelity)
    else:
        print(fidelity_text(fidelity, request.file.name))
    return 0 if fidelity.is_reached else _FAILED


def built_twin(binaries: Binaries, path: Path, scale: float, on_progress: OnProgress) -> tuple[Path, dict[str, str]]:
    """Return the data directory of the twin, built now unless it was before, and the settings that exist here.

    What the server could not make is printed to stderr, once, when the twin is built. Raises UsageError.
    """
    twin = read_twin(path)
    template = template_of(
        binaries,
        keep_twin(path, scale=scale),
        on_stage=lambda stage: on_progress(FetchProgress(what=stage, done_bytes=0)),
        on_built=_say_left_out,
    )
    return template, known_settings(binaries, twin)


def _say_left_out(built: Built) -> None:
    for left in built.left_out:
        reason = left.reason if left.refusal is None else refusal_words(left.refusal, left.detail)
        say(f"pgclinic: left out: {left.kind} {' '.join(left.name.split())}: {reason}")
