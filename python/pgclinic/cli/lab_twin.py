"""``pgclinic lab start --twin``: a template with the twin in it, and the settings that its original had."""

from __future__ import annotations

import sys
from pathlib import Path

from pgclinic.experiment.twin_check import known_settings
from pgclinic.lab.binaries import Binaries, OnProgress, Progress
from pgclinic.report.twin_text import refusal_words
from pgclinic.trial.server import template_of
from pgclinic.twin.build import Built
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import keep_twin


def built_twin(binaries: Binaries, path: Path, scale: float, on_progress: OnProgress) -> tuple[Path, dict[str, str]]:
    """The data directory of the twin, built now unless it was before, and those of its settings that exist here.

    What the server could not make is printed to stderr, once, when the twin is built. Raises UsageError.
    """
    twin = read_twin(path)
    template = template_of(
        binaries,
        keep_twin(path, scale=scale),
        on_stage=lambda stage: on_progress(Progress(what=stage, done_bytes=0)),
        on_built=_say_left_out,
    )
    return template, known_settings(binaries, twin)


def _say_left_out(built: Built) -> None:
    for one in built.left_out:
        reason = one.reason if one.refusal is None else refusal_words(one.refusal, one.detail)
        print(f"pgclinic: left out: {one.kind} {' '.join(one.name.split())}: {reason}", file=sys.stderr)
