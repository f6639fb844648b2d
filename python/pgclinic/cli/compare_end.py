"""The end of a comparison: files written, the answer printed, the exit code found. Needs no server."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import structs

from pgclinic.cli.attached_servers import how_to_resume
from pgclinic.cli.compare_exports import Exports, check_exports, write_exports
from pgclinic.cli.verdict import not_stored
from pgclinic.errors import RunFailedError
from pgclinic.judge.comparison import compare
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.compare import Comparison
from pgclinic.model.output import CompareOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.threshold import Threshold, ThresholdState
from pgclinic.model.verdict import Verdict
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.compare_text import compare_text
from pgclinic.report.page import render_report
from pgclinic.report.terminal import Places
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run

CROSSED, UNDECIDED = 3, 4


@dataclass(frozen=True)
class Ending:
    """What happens with the answer, as given on the command line."""

    fail_if: tuple[str, ...] = ()
    strict: bool = False
    exports: Exports = field(default_factory=Exports)
    as_json: bool = False
    must_store: bool = True

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Raises UsageError for a threshold that cannot be read."""
        return tuple(parse_ratio_threshold(text) for text in self.fail_if)

    def or_those_of(self, info: RunInfo) -> Ending:
        """With the thresholds that a stored run was given, where no others are asked for."""
        if self.fail_if or self.strict:
            return self
        return replace(self, fail_if=info.fail_if, strict=info.strict)

    def check(self) -> None:
        """Raise UsageError for everything that cannot be done, before anything runs."""
        _ = self.thresholds
        check_exports(self.exports, as_json=self.as_json)


def finish_comparison(
    folder: RunFolder, plan: ExperimentPlan, verdict: Verdict, ending: Ending, dsns: Iterable[str] = ()
) -> int:
    """Write verdict, comparison, report and exports; print the answer; give the exit code.

    An answer that cannot be stored is printed all the same. ``dsns`` are the whole addresses of existing servers.
    """
    answer = write_answer(folder, plan, verdict, ending.thresholds)
    stored, comparison, report, problem = answer.stored, answer.comparison, answer.report, answer.problem
    to_stdout = write_exports(ending.exports, comparison, stored, strict=ending.strict)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif ending.as_json:
        output = CompareOutput(run=str(folder.path), report=report, comparison=comparison)
        print(msgspec.json.encode(output).decode())
    else:
        places = Places(report=report, folder=str(folder.path), resume_note=how_to_resume(dsns))
        width = min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
        print(compare_text(comparison, stored.trials, places, width=width))
    if problem is not None:
        not_stored(problem, must_store=ending.must_store)
    return exit_code(comparison, strict=ending.strict)


@dataclass(frozen=True)
class Answer:
    """What a comparison found; ``report`` is its page, or ``problem`` why that could not be written."""

    stored: StoredRun
    comparison: Comparison
    report: str | None
    problem: RunFailedError | None = None


def write_answer(
    folder: RunFolder, plan: ExperimentPlan, verdict: Verdict, thresholds: tuple[Threshold, ...] = ()
) -> Answer:
    """Compare what the folder's trials gave, and write verdict, comparison and page into it."""
    stored = read_run(folder.path)
    comparison = compare(
        plan.study,
        stored.trials,
        verdict,
        plan.profile,
        thresholds,
        stored.calibration,
        stored.info.blocks_fixed,
    )
    comparison = structs.replace(comparison, fidelity=plan.fidelity)
    page = render_report(
        stored.info,
        plan.study,
        stored.trials,
        stored.seconds,
        verdict,
        str(folder.path),
        comparison,
        stored.calibration,
    )
    try:
        folder.write_verdict(verdict)
        folder.write_comparison(comparison)
        return Answer(stored, comparison, str(folder.write_report(page)))
    except RunFailedError as error:
        return Answer(stored, comparison, None, error)


def exit_code(comparison: Comparison, *, strict: bool) -> int:
    """A crossed threshold has priority; an undecided answer counts only with ``strict``."""
    states = {seen.state for seen in comparison.thresholds}
    if ThresholdState.CROSSED in states:
        return CROSSED
    if comparison.word is CompareWord.INVALID:
        return UNDECIDED
    is_open = ThresholdState.UNDECIDED in states if states else comparison.word is CompareWord.INCONCLUSIVE
    return UNDECIDED if strict and is_open else 0
