"""The end of a comparison: files written, the answer printed, the exit code found. Needs no server."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

import msgspec

from pgclinic.cli.compare_exports import Exports, check_exports, write_exports
from pgclinic.cli.verdict import not_stored
from pgclinic.errors import RunFailedError
from pgclinic.model.compare import CompareWord, Comparison, Threshold, ThresholdState
from pgclinic.model.output import CompareOutput
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.compare_text import compare_text
from pgclinic.report.page import render_report
from pgclinic.report.terminal import Places
from pgclinic.store.run_folder import RunFolder, read_run
from pgclinic.study.compare import PROFILE
from pgclinic.study.comparison import compare
from pgclinic.study.fail_if import parse_threshold

CROSSED, UNDECIDED = 3, 4


@dataclass(frozen=True)
class Ending:
    """What is to become of the answer, in the user's words."""

    fail_if: tuple[str, ...] = ()
    strict: bool = False
    exports: Exports = field(default_factory=Exports)
    as_json: bool = False
    must_store: bool = True

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Raises UsageError for a condition that cannot be read."""
        return tuple(parse_threshold(text) for text in self.fail_if)

    def check(self) -> None:
        """Raise UsageError for whatever of it cannot be done, before anything is run."""
        _ = self.thresholds
        check_exports(self.exports, as_json=self.as_json)


def finish_comparison(folder: RunFolder, study: Study, verdict: Verdict, ending: Ending) -> int:
    """Write verdict, comparison, report and exports; print the answer; give the exit code.

    An answer that cannot be stored is shown all the same.
    """
    stored = read_run(folder.path)
    comparison = compare(
        study,
        stored.trials,
        verdict,
        study.profiles[PROFILE],
        ending.thresholds,
        stored.prelude,
        stored.info.blocks_fixed,
    )
    page = render_report(
        stored.info, study, stored.trials, stored.seconds, verdict, str(folder.path), comparison, stored.prelude
    )
    problem = None
    try:
        folder.write_verdict(verdict)
        folder.write_comparison(comparison)
        report = str(folder.write_report(page))
    except RunFailedError as error:
        problem, report = error, None
    to_stdout = write_exports(ending.exports, comparison, stored, strict=ending.strict)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif ending.as_json:
        output = CompareOutput(run=str(folder.path), report=report, comparison=comparison)
        print(msgspec.json.encode(output).decode())
    else:
        places = Places(report=report, folder=str(folder.path))
        width = min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
        print(compare_text(comparison, stored.trials, places, width=width))
    if problem is not None:
        not_stored(problem, must_store=ending.must_store)
    return exit_code(comparison, strict=ending.strict)


def exit_code(comparison: Comparison, *, strict: bool) -> int:
    """A crossed threshold outweighs all; what stays open counts only where the user is strict."""
    states = {seen.state for seen in comparison.thresholds}
    if ThresholdState.CROSSED in states:
        return CROSSED
    if comparison.word is CompareWord.INVALID:
        return UNDECIDED
    is_open = ThresholdState.UNDECIDED in states if states else comparison.word is CompareWord.INCONCLUSIVE
    return UNDECIDED if strict and is_open else 0
