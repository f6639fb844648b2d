"""The end of a study: verdict and report written, the verdict printed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import msgspec

from pgclinic.cli.attached_servers import how_to_resume
from pgclinic.errors import RunFailedError
from pgclinic.model.output import StudyOutput
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.colour import colour_wanted
from pgclinic.report.page import render_report
from pgclinic.report.terminal import Places, verdict_text
from pgclinic.report.visible import write_own
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run


def finish(
    folder: RunFolder,
    study: Study,
    verdict: Verdict,
    *,
    as_json: bool,
    must_store: bool = True,
    dsns: Iterable[str] = (),
) -> None:
    """Print the verdict (JSON or words) to stdout and write verdict.json and report.html.

    If they cannot be written, the verdict is printed all the same; then that is the error, or with ``must_store`` False
    only a message. ``dsns`` are the whole addresses of existing servers, whose passwords no run folder stores.
    """
    stored = read_run(folder.path)
    page = render_report(
        stored.info, study, stored.trials, stored.seconds, verdict, str(folder.path), calibration=stored.calibration
    )
    problem = None
    try:
        folder.write_verdict(verdict)
        report = str(folder.write_report(page))
    except RunFailedError as error:
        problem, report = error, None
    if as_json:
        output = StudyOutput(run=str(folder.path), report=report, verdict=verdict)
        print(msgspec.json.encode(output).decode())
    else:
        text = verdict_text(
            study,
            stored.trials,
            verdict,
            Places(report=report, folder=str(folder.path), resume_note=how_to_resume(dsns)),
            colour=colour_wanted(sys.stdout, os.environ),
            width=min(120, max(60, shutil.get_terminal_size((100, 24)).columns)),
        )
        # Its colours are our own; what it quotes has been made visible.
        write_own(sys.stdout, text + "\n")
    if problem is not None:
        not_stored(problem, must_store=must_store)


def not_stored(problem: RunFailedError, *, must_store: bool) -> None:
    """Report an answer that was printed and could not be written."""
    if must_store:
        raise problem
    print(f"pgclinic: the verdict and the report are not stored: {problem.message}", file=sys.stderr)


def say_strange(stored: StoredRun) -> None:
    """Name the files among the trials that are not trials; they are ignored."""
    for path in stored.strange:
        print(f"pgclinic: {path} is not a trial and is ignored", file=sys.stderr)
