"""The end of a study: verdict and report written, the verdict printed."""

from __future__ import annotations

import os
import shutil
import sys

import msgspec

from pgclinic.errors import RunFailedError
from pgclinic.model.output import StudyOutput
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.page import render_report
from pgclinic.report.terminal import Places, colour_wanted, verdict_text
from pgclinic.report.visible import write_own
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run


def finish(folder: RunFolder, study: Study, verdict: Verdict, *, as_json: bool, must_store: bool = True) -> None:
    """Print the verdict (JSON or words) to stdout and write verdict.json and report.html.

    Where they cannot be written the verdict is shown all the same; then that is the error, or with ``must_store`` False
    only said.
    """
    stored = read_run(folder.path)
    page = render_report(
        stored.info, study, stored.trials, stored.seconds, verdict, str(folder.path), prelude=stored.prelude
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
            Places(report=report, folder=str(folder.path)),
            colour=colour_wanted(sys.stdout, os.environ),
            width=min(120, max(60, shutil.get_terminal_size((100, 24)).columns)),
        )
        # Its colours are our own; what it quotes has been made visible.
        write_own(sys.stdout, text + "\n")
    if problem is not None:
        not_stored(problem, must_store=must_store)


def not_stored(problem: RunFailedError, *, must_store: bool) -> None:
    """What is to be done about an answer that was shown and could not be written."""
    if must_store:
        raise problem
    print(f"pgclinic: the verdict and the report are not stored: {problem.message}", file=sys.stderr)


def say_strange(stored: StoredRun) -> None:
    """Name what lies among the trials and is none; it counts for nothing."""
    for path in stored.strange:
        print(f"pgclinic: {path} is not a trial and is left out", file=sys.stderr)
