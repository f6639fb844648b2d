"""The end of a study: verdict and report written, the verdict printed, the exit code found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.exit_codes import CROSSED, UNDECIDED
from pgclinic.cli.experiment_run import how_to_resume
from pgclinic.cli.output import is_coloured, print_coloured, print_json, say, text_columns
from pgclinic.errors import RunFailedError
from pgclinic.model.output import StudyOutput
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run

EXIT_CODES = {
    "contradicted": 3,
    "not replicated": 3,
    "not confirmed": 3,
    "no effect": 3,
    "inconclusive": 4,
    "invalid": 4,
}


@dataclass(frozen=True)
class JudgedStudy:
    """A study as it ran, its verdict, and the folder of its run."""

    study: Study
    verdict: Verdict
    folder: Path


def study_export_texts(judged: Sequence[JudgedStudy]) -> dict[str, Callable[[], str]]:
    """Return what makes the text of each export, of all studies together, by its option."""
    from pgclinic.report.exports.junit_answers import studies_junit_xml

    return {
        "--junit": lambda: studies_junit_xml([(one.study, one.verdict) for one in judged]),
        "--markdown": lambda: "\n".join(_markdown(one) for one in judged),
    }


def _markdown(one: JudgedStudy) -> str:
    from pgclinic.report.kinds import STUDY
    from pgclinic.report.markdown import report_markdown

    stored = read_run(one.folder)
    reported = ReportedStudy(
        run=stored.info,
        study=one.study,
        trials=stored.trials,
        seconds=stored.seconds,
        verdict=one.verdict,
        folder=str(one.folder),
        calibration=stored.calibration,
    )
    return report_markdown(STUDY, reported)


def finish_study(
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
    from pgclinic.report.kinds import study_page

    stored = read_run(folder.path)
    one = ReportedStudy(
        stored.info, study, stored.trials, stored.seconds, verdict, str(folder.path), calibration=stored.calibration
    )
    page = study_page(one)
    problem = None
    try:
        folder.write_verdict(verdict)
        report = str(folder.write_report(page))
    except RunFailedError as error:
        problem, report = error, None
    if as_json:
        print_json(StudyOutput(run=str(folder.path), report=report, verdict=verdict))
    else:
        places = RunPaths(report=report, folder=str(folder.path), resume_note=how_to_resume(dsns))
        todo, width = study_next(one), text_columns()
        print_coloured(
            verdict_text(study, stored.trials, verdict, places, todo=todo, colour=is_coloured(), width=width)
        )
    if problem is not None:
        not_stored(problem, must_store=must_store)


def not_stored(problem: RunFailedError, *, must_store: bool) -> None:
    """Report an answer that was printed and could not be written."""
    if must_store:
        raise problem
    say(f"pgclinic: the verdict and the report are not stored: {problem.message}")


def say_strange(stored: StoredRun) -> None:
    """Name the files among the trials that are not trials; they are ignored."""
    for path in stored.strange:
        say(f"pgclinic: {path} is not a trial and is ignored")


def worst_exit_code(verdicts: Sequence[Verdict]) -> int:
    """Return the exit code of several verdicts: a refuted claim outweighs an inconclusive one."""
    codes = [EXIT_CODES.get(claim.word.value, 0) for verdict in verdicts for claim in verdict.claims]
    for code in (CROSSED, UNDECIDED):
        if code in codes:
            return code
    return 0
