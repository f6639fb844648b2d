"""The end of a bench: files, run folder and report written, the summary printed; also for a run that is read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.bench.hdr_log import write_hdr_log
from pgclinic.bench.request import Outputs
from pgclinic.bench.result import ABORTED, NOT_RUN
from pgclinic.bench.seconds_file import write_seconds
from pgclinic.cli.output import print_json, say, text_columns
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.model.bench import BenchResult
from pgclinic.model.run import RunInfo, Second
from pgclinic.model.trial import TrialRecord
from pgclinic.report.sections.load.text import result_lines
from pgclinic.store.bench_folder import bench_name, read_bench_result, write_bench
from pgclinic.store.run_folder import RunFolder, StoredRun


@dataclass(frozen=True)
class EndedBench:
    """A bench that is over: ``trial`` and ``seconds`` are of its load where that was observed."""

    info: RunInfo
    result: BenchResult
    trial: TrialRecord | None = None
    seconds: Sequence[Second] = ()


def finish_bench(ended: EndedBench, outputs: Outputs, folder: RunFolder | None) -> None:
    """Write what was asked for, then print the result. ``folder`` is that of the run, where it is kept."""
    _write_files(ended.result, outputs)
    if folder is not None:
        write_bench(folder, ended.result, ended.trial)
        say(f"run {folder.path}")
    for report in _write_reports(ended, outputs, folder):
        say(f"report {report}")
    print_bench(ended, as_json=outputs.as_json)


def judge_bench(stored: StoredRun, *, as_json: bool) -> int:
    """Write the report of a stored run anew, print its result again, and return the exit code that it had.

    Raises UsageError where the load was not observed, so that there is nothing to show.
    """
    if not (stored.path / "bench.json").is_file():
        raise UsageError(f"{stored.path} has no result: the command ended before it was there")
    result = read_bench_result(stored.path)
    if not stored.trials:
        raise UsageError(
            f"{stored.path} is a bench that was not observed: it has no report",
            hint="run it with --observe or --report; its result is in bench.json",
        )
    ended = EndedBench(stored.info, result, stored.trials[0], stored.seconds)
    try:
        say(f"report {RunFolder(stored.path).write_report(_page(ended, str(stored.path)))}")
    except RunFailedError as error:
        say(f"pgclinic: the report is not stored: {error.message}")
    print_bench(ended, as_json=as_json)
    return result.exit_code


def print_bench(ended: EndedBench, *, as_json: bool) -> None:
    """pgbench's summary on stdout, unchanged; below it what was observed."""
    result = ended.result
    if as_json:
        print_json(result)
    # pgbench has nothing to show of a run that did not begin.
    elif result.exit_code != NOT_RUN:
        print("\n".join([*result_lines(result), *_observed_lines(ended)]))
    log = result.load.log
    if log is not None and log.lines_lost:
        say(f"pgclinic: error: {log.lines_lost} lines of the log are lost: {log.problem}")
    if result.exit_code == ABORTED:
        say("pgclinic: error: Run was aborted; the above results are incomplete.")


def _observed_lines(ended: EndedBench) -> list[str]:
    trial, observed = ended.trial, ended.result.observed
    if trial is None or observed is None:
        return []
    from pgclinic.report.sections.next.bench import bench_next
    from pgclinic.report.sections.next.step import next_lines
    from pgclinic.report.sections.waits.view import LABEL_WIDTH, labelled_lines, missing_rows, trust_rows, why_rows

    rows = [*(why_rows(observed.activity) if observed.activity is not None else ())]
    rows += [*trust_rows(trial), *missing_rows(trial)]
    todo = bench_next(ended.info, ended.result, trial)
    return ["", *labelled_lines(rows, text_columns()), *next_lines(todo, LABEL_WIDTH, text_columns())]


def _write_files(result: BenchResult, outputs: Outputs) -> None:
    for path in outputs.seconds:
        write_seconds(path, result.load.seconds)
    if outputs.hdr is not None:
        write_hdr_log(outputs.hdr, result.load)


def _write_reports(ended: EndedBench, outputs: Outputs, folder: RunFolder | None) -> list[Path]:
    """Write a report into the run folder, where there is one, and one where the user wants it; return their paths."""
    if not outputs.wants_report:
        return []
    if ended.trial is None:
        say("pgclinic: there is no report: the load was not observed to its end")
        return []
    written = []
    if folder is not None:
        written.append(folder.write_report(_page(ended, str(folder.path))))
    if outputs.report is not None or folder is None:
        path = outputs.report or Path(f"{bench_name(ended.info)}.html")
        _write_page(path, _page(ended, str(folder.path) if folder is not None else None))
        written.append(path)
    return written


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--report: cannot write {path}: {error.strerror}") from error


def _page(ended: EndedBench, folder: str | None) -> str:
    # Templates take longer to load than a short bench takes.
    from pgclinic.report.kinds import bench_page
    from pgclinic.report.reported import ReportedBench

    assert ended.trial is not None
    return bench_page(ReportedBench(ended.info, ended.result, ended.trial, ended.seconds, folder))
