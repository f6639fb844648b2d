"""The end of a comparison: files written, the answer printed, the exit code found. Needs no server."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pgclinic.cli.compare import AnswerOptions
from pgclinic.cli.exit_codes import CROSSED, UNDECIDED
from pgclinic.cli.experiment_run import how_to_resume
from pgclinic.cli.exports import check_places, write_exports
from pgclinic.cli.output import print_json, text_columns
from pgclinic.cli.study_end import not_stored
from pgclinic.errors import RunFailedError
from pgclinic.experiment.road import compared_stored
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.compare import Comparison
from pgclinic.model.output import CompareOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.threshold import Threshold, ThresholdState
from pgclinic.model.verdict import Verdict
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.asked import asked_words
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run


@dataclass(frozen=True)
class StoredAnswer:
    """What a comparison found; ``report`` is its page, or ``problem`` why that could not be written."""

    one: ReportedStudy
    comparison: Comparison
    report: str | None
    problem: RunFailedError | None = None


def check_answer(options: AnswerOptions) -> None:
    """Raise UsageError for everything that cannot be done with the answer, before anything runs."""
    _thresholds(options)
    exports = options.exports
    check_places(exports.places, force=exports.force, on_stdout=["--json"] * options.as_json)


def answer_of_run(options: AnswerOptions, info: RunInfo) -> AnswerOptions:
    """Return the options with the thresholds that a stored run was given, where no others are asked for."""
    if options.fail_if or options.strict:
        return options
    return dataclasses.replace(options, fail_if=info.fail_if, strict=info.strict)


def _thresholds(options: AnswerOptions) -> tuple[Threshold, ...]:
    return tuple(parse_ratio_threshold(text) for text in options.fail_if)


def finish_comparison(
    folder: RunFolder,
    plan: ExperimentPlan,
    verdict: Verdict,
    options: AnswerOptions,
    dsns: Iterable[str] = (),
    *,
    must_store: bool = True,
) -> int:
    """Write verdict, comparison, report and exports, print the answer, and return the exit code.

    An answer that cannot be stored is printed all the same; with ``must_store`` it is an error then. ``dsns`` are the
    whole addresses of existing servers.
    """
    answer = write_answer(read_run(folder.path), plan, verdict, _thresholds(options))
    one, comparison = answer.one, answer.comparison
    texts = _export_texts(one, comparison, strict=options.strict)
    to_stdout = write_exports(options.exports.places, texts, kept_in=folder.path)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif options.as_json:
        print_json(CompareOutput(run=str(folder.path), report=answer.report, comparison=comparison))
    else:
        places = RunPaths(report=answer.report, folder=str(folder.path), resume_note=how_to_resume(dsns))
        asked, todo = asked_words(one), study_next(one)
        print(compare_text(comparison, one.trials, places, asked=asked, todo=todo, width=text_columns()))
    if answer.problem is not None:
        not_stored(answer.problem, must_store=must_store)
    return exit_code(comparison, strict=options.strict)


def write_answer(
    stored: StoredRun, plan: ExperimentPlan, verdict: Verdict, thresholds: tuple[Threshold, ...] = ()
) -> StoredAnswer:
    """Compare what the run's trials gave, write verdict, comparison and page into its folder, and return them."""
    from pgclinic.report.kinds import study_page

    folder, comparison = RunFolder(stored.path), compared_stored(stored, plan, verdict, thresholds)
    one = ReportedStudy(
        stored.info,
        plan.study,
        stored.trials,
        stored.seconds,
        verdict,
        str(folder.path),
        comparison,
        stored.calibration,
    )
    page = study_page(one)
    try:
        folder.write_verdict(verdict)
        folder.write_comparison(comparison)
        return StoredAnswer(one, comparison, str(folder.write_report(page)))
    except RunFailedError as error:
        return StoredAnswer(one, comparison, None, error)


def exit_code(comparison: Comparison, *, strict: bool) -> int:
    """Return 3 for a crossed threshold; 4 for an invalid answer, and with ``strict`` for an undecided one; else 0."""
    states = {threshold.state for threshold in comparison.thresholds}
    if ThresholdState.CROSSED in states:
        return CROSSED
    if comparison.word is CompareWord.INVALID:
        return UNDECIDED
    is_open = ThresholdState.UNDECIDED in states if states else comparison.word is CompareWord.INCONCLUSIVE
    return UNDECIDED if strict and is_open else 0


def _export_texts(one: ReportedStudy, comparison: Comparison, *, strict: bool) -> dict[str, Callable[[], str]]:
    """Return what makes the text of each export, by its option."""
    from pgclinic.report.exports.bencher import bencher_json
    from pgclinic.report.exports.junit import junit_xml
    from pgclinic.report.exports.otava import otava_csv
    from pgclinic.report.markdown import markdown

    info, trials = one.run, one.trials
    started = datetime.fromtimestamp(info.started_epoch_us / 1e6, UTC).isoformat(timespec="seconds")
    elapsed_s = sum(trial.elapsed_s for trial in trials)
    return {
        "--junit": lambda: junit_xml(comparison, elapsed_s=elapsed_s, started=started, strict=strict),
        "--markdown": lambda: markdown(one, comparison, report=f"{one.folder}/report.html"),
        "--bencher": lambda: bencher_json(comparison),
        "--otava": lambda: otava_csv(comparison, info, folder=one.folder, started=started),
    }
