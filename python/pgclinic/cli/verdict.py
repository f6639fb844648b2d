"""The end of a study: verdict and report written, the verdict printed."""

from __future__ import annotations

import os
import shutil
import sys

import msgspec

from pgclinic.model.output import StudyOutput
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.page import render_report
from pgclinic.report.terminal import Places, colour_wanted, verdict_text
from pgclinic.store.run_folder import RunFolder, read_run


def finish(folder: RunFolder, study: Study, verdict: Verdict, *, as_json: bool) -> None:
    """Write verdict.json and report.html, then print the verdict (JSON or words) to stdout."""
    folder.write_verdict(verdict)
    stored = read_run(folder.path)
    page = render_report(
        stored.info, study, stored.trials, stored.seconds, verdict, str(folder.path), prelude=stored.prelude
    )
    report = folder.write_report(page)
    if as_json:
        output = StudyOutput(run=str(folder.path), report=str(report), verdict=verdict)
        print(msgspec.json.encode(output).decode())
        return
    print(
        verdict_text(
            study,
            stored.trials,
            verdict,
            Places(report=str(report), folder=str(folder.path)),
            colour=colour_wanted(sys.stdout, os.environ),
            width=min(120, max(60, shutil.get_terminal_size((100, 24)).columns)),
        )
    )
