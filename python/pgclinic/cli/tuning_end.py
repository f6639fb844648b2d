"""The end of an assay, a search and a bisection: run it with the live view, keep what was found, print it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pgclinic.cli.experiment_run import kept_run
from pgclinic.cli.live import LiveView
from pgclinic.cli.output import print_json, text_columns
from pgclinic.errors import RunFailedError
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.road import Experiment
from pgclinic.model.plan import ArmSpec
from pgclinic.model.progress import Progress
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.next.tuning import tuning_next
from pgclinic.report.sections.tuned.text import tuning_output, tuning_text
from pgclinic.store.run_folder import read_run
from pgclinic.tune.ask import Strategy
from pgclinic.tune.ledger import Ledger
from pgclinic.tune.road import run_strategy

TuningAnswer = TypeVar("TuningAnswer", Assay, Search, Bisect)


def run_tuning(
    experiment: Experiment,
    base: ArmSpec,
    strategy: Callable[[Ledger], Strategy[TuningAnswer]],
    live: LiveView,
    on_progress: Callable[[Progress], None] | None = None,
) -> TuningAnswer:
    """Run the trials and return what the strategy found. Where it ends early, say what is kept and how to resume it."""
    listener = Listener(on_progress=on_progress or live.progress, on_trial=live.trial)
    with kept_run(experiment, live):
        found = run_strategy(experiment, base, strategy, listener)
    live.clear()
    if found is None:
        raise RunFailedError("the trials do not lead to an answer", hint="start a new run")
    return found


def finish_tuning(
    experiment: Experiment, found: TuningAnswer, *, as_json: bool, files: Sequence[tuple[str, Path]] = ()
) -> None:
    """Keep the answer, write its page, print it; ``files`` are others that it points to, by what they are."""
    from pgclinic.report.kinds import tuning_page

    folder, stored = experiment.folder, read_run(experiment.folder.path)
    one = ReportedTuning(stored.info, experiment.plan, found, str(folder.path))
    report: str | None = None
    problem: RunFailedError | None = None
    try:
        folder.write_tuning(found)
        report = str(folder.write_report(tuning_page(one)))
    except RunFailedError as error:
        problem = error
    if as_json:
        print_json(tuning_output(found, str(folder.path), report))
    else:
        places = [(name, str(path)) for name, path in files]
        places += [("report", report)] if report is not None else []
        todo, width = tuning_next(one), text_columns()
        print(tuning_text(found, experiment.plan, places, resume=one.folder, todo=todo, width=width))
    if problem is not None:
        raise problem
