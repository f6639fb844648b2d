"""``pgclinic runs history``: its runs, what is written and printed, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pgclinic.cli.exit_codes import CROSSED
from pgclinic.cli.output import print_json, text_columns
from pgclinic.cli.runs_chosen import asked_runs, chosen_runs
from pgclinic.cli.runs_history import RunsHistoryRequest
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.judge.run_figures import figures_of
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.history import FigureState, HistoryOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.report.runs.history import run_history
from pgclinic.report.runs.history_text import history_text
from pgclinic.report.words.machine import machine_words
from pgclinic.store.document import refuse_existing, write_new
from pgclinic.store.run_folder import decoded
from pgclinic.store.run_list import FoundRun

_WORSE = "worse"
#: Of a file, which is as wide for everybody.
_COLUMNS = 100
_SUFFIXES = (".html", ".md", ".json", ".xml")


def show_history(request: RunsHistoryRequest) -> int:
    """Print or write it. Return 3 if a figure is worse and ``--fail-on`` asks for that. Raises UsageError."""
    if request.fail_on not in (None, _WORSE):
        raise UnknownNameError("condition", str(request.fail_on), [_WORSE], where="--fail-on")
    if request.output is not None:
        if request.output.suffix not in _SUFFIXES:
            raise UnknownNameError("suffix", request.output.suffix, _SUFFIXES, where=f"-o {request.output}")
        refuse_existing(request.output, force=request.force)
    runs = _runs(request)
    history = run_history(request.name, runs, _plans(runs), request.figure)
    if request.output is not None:
        _write(
            request.output, history, force=request.force, private=any(isinstance(run.answer, Checkup) for run in runs)
        )
    if request.as_json:
        print_json(history)
    else:
        print(request.output or history_text(history, text_columns()))
    states = {figure.state for series in history.series for figure in series.figures}
    return CROSSED if request.fail_on and FigureState.WORSE in states else 0


def _runs(request: RunsHistoryRequest) -> list[FoundRun]:
    """The runs of that name, one at least with figures. Raises UsageError, UnknownNameError."""
    found = [
        run for run in chosen_runs(request.runs, asked_runs(request.kind, None, None, None)) if run.info is not None
    ]
    named = [run for run in found if request.name in _names(run)]
    if not named:
        raise UnknownNameError(
            "name", request.name, (name for run in found for name in _names(run)), where=str(request.runs)
        )
    if request.machine is not None:
        machines = {run.path: machine_words(run.info.machine) for run in named if run.info is not None}
        named = [run for run in named if request.machine.lower() in machines[run.path].lower()]
        if not named:
            raise UnknownNameError("machine", request.machine, machines.values(), where="--machine")
    figures = {figure.name for run in named if run.answer is not None for figure in figures_of(run.answer)}
    if not figures:
        raise UsageError(
            f"no run of {request.name} has a figure", hint=f"pgclinic runs list --name '{request.name}' says why"
        )
    if request.figure is not None and request.figure not in figures:
        raise UnknownNameError("figure", request.figure, figures, where="--figure")
    return named


def _names(run: FoundRun) -> Iterable[str]:
    """By what a run is named; one of a script that pgbench has by the name that -b takes, too."""
    if run.info is not None:
        yield run.info.name
    if isinstance(run.answer, BenchResult):
        yield from (script.builtin for script in run.answer.options.scripts if script.builtin is not None)


def _plans(runs: Sequence[FoundRun]) -> Mapping[Path, ExperimentPlan]:
    """The plans of those that have one. Raises RunFailedError where one is damaged."""
    return {
        run.path: decoded(run.path / "plan.json", ExperimentPlan)
        for run in runs
        if run.answer is not None and (run.path / "plan.json").is_file()
    }


def _write(output: Path, history: HistoryOutput, *, force: bool, private: bool) -> None:
    from pgclinic.report.exports.junit import history_junit_xml
    from pgclinic.report.markdown import text_markdown
    from pgclinic.report.runs.history_page import history_page

    texts: Mapping[str, Callable[[], str]] = {
        ".html": lambda: history_page(history, output.absolute().parent),
        ".md": lambda: text_markdown(f"History of {history.name}", history_text(history, _COLUMNS)),
        ".json": lambda: msgspec.json.format(msgspec.json.encode(history), indent=1).decode() + "\n",
        ".xml": lambda: history_junit_xml(history),
    }
    write_new(output, texts[output.suffix]().encode(), force=force, private=private)
