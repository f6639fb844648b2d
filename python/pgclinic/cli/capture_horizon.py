"""``pgclinic capture horizon``: recorded to the end or to Ctrl-C, written once a minute, printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pgclinic.capture.horizon import HorizonRecorder
from pgclinic.cli.duration import in_words
from pgclinic.cli.interrupts import INTERRUPTED
from pgclinic.cli.output import print_json, say
from pgclinic.model.horizon import HorizonPoint
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.sections.horizon.text import horizon_text, point_words
from pgclinic.report.sections.horizon.view import render_horizon
from pgclinic.store.document import refuse_existing, write_document, write_new

#: A line of progress at most so often, in seconds.
_SAY_EVERY_S = 60.0


@dataclass(frozen=True)
class HorizonFiles:
    """Where the recording and its page are written, None for nowhere."""

    recording: Path | None
    page: Path | None
    force: bool


def record_horizon(dsn: str, *, for_s: float, every_s: float, files: HorizonFiles, as_json: bool) -> int:
    """Record the horizon of a server, write and print it, and return the exit code. Raises UsageError."""
    for path in (files.recording, files.page):
        if path is not None:
            refuse_existing(path, force=files.force)
    recorder = HorizonRecorder(reach_dsn(dsn), for_s=for_s, every_s=every_s)
    interrupted = _run(recorder, for_s, files)
    recording = recorder.recording()
    if files.recording is not None:
        # It is there already, as far as it was recorded.
        write_document(files.recording, recording, force=True)
    if files.page is not None:
        write_new(files.page, render_horizon(recording).encode(), force=files.force)
    if as_json:
        print_json(recording)
    else:
        print(horizon_text(recording))
        for name, path in (("file", files.recording), ("page", files.page)):
            if path is not None:
                print(f"  {name:<10} {path}")
    return INTERRUPTED if interrupted else 0


def _run(recorder: HorizonRecorder, for_s: float, files: HorizonFiles) -> bool:
    """Record to the end, or to Ctrl-C: then return True. What was recorded is written once a minute."""
    said_s = -_SAY_EVERY_S

    def on_point(point: HorizonPoint) -> None:
        nonlocal said_s
        if point.at_s - said_s >= _SAY_EVERY_S:
            if files.recording is not None:
                write_document(files.recording, recorder.recording(), force=files.force or said_s >= 0)
            said_s = point.at_s
            say(f"pgclinic: {in_words(point.at_s)} of {in_words(for_s)}: {point_words(point)}")

    try:
        recorder.run(on_point)
    except KeyboardInterrupt:
        return True
    return False
