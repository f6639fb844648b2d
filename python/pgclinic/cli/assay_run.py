"""The road of ``pgclinic assay``: two configurations, what is between them, an answer."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pgclinic.cli.live import LiveLine
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_options import Asked
from pgclinic.cli.tuning_run import Arm, about, new_experiment, resumed_experiment
from pgclinic.cli.tuning_settings import (
    Found,
    say_left_out,
    settings_of_base,
    settings_of_file,
    settings_of_server,
    settings_of_twin,
)
from pgclinic.errors import UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import AssayWord
from pgclinic.settings.words import parse_settings
from pgclinic.tune.assay import assay
from pgclinic.tune.difference import BASE, CHANGED, Difference

UNDECIDED = 4


@dataclass(frozen=True)
class AssayRequest:
    """What the command line asked for."""

    target: str | None
    settings: tuple[str, ...]
    base: Path | None
    asked: Asked
    resume: Path | None
    budget_is_given: bool = False


def run_assay(request: AssayRequest) -> int:
    with ExitStack() as stack:
        live = stack.enter_context(LiveLine(sys.stderr))
        experiment = _experiment(request, stack, live)
        arms = experiment.plan.arms
        difference = Difference.between(arms[BASE].settings, arms[CHANGED].settings)
        seed = experiment.info.seed
        found = run_tuning(experiment, arms[BASE], lambda ledger: assay(difference, ledger, seed=seed), live)
    finish_tuning(experiment, found, as_json=request.asked.as_json)
    return UNDECIDED if found.word in (AssayWord.REFUSED, AssayWord.INCONCLUSIVE) else 0


def _experiment(request: AssayRequest, stack: ExitStack, live: LiveLine) -> Experiment:
    if request.resume is not None:
        if request.target is not None or request.settings or request.base is not None:
            raise UsageError("--resume uses the settings of the run: omit them")
        budget = request.asked.budget if request.budget_is_given else None
        return resumed_experiment(RunKind.ASSAY, request.resume, budget, live)[0]
    found = _found(request, stack, live)
    base = settings_of_base(request.base, request.asked, live)
    changed = {**(base if request.target is None else {}), **found.settings, **parse_settings(request.settings)}
    if changed == base:
        raise UsageError("the settings do not differ from the base", hint="name a file, a server or --set NAME=VALUE")
    say_left_out(found, live)
    arms = {BASE: Arm(base, about(base)), CHANGED: Arm(changed, about(changed))}
    # The settings of an original are in question themselves.
    return new_experiment(RunKind.ASSAY, found.asked, arms, live, as_original=False)


def _found(request: AssayRequest, stack: ExitStack, live: LiveLine) -> Found:
    target, asked = request.target, request.asked
    if target is None:
        if not request.settings:
            raise UsageError(
                "there is nothing to assay",
                hint="name a postgresql.conf, a server or a twin, or write --set NAME=VALUE",
            )
        return Found({}, asked)
    if target.endswith(".twin"):
        return settings_of_twin(Path(target), asked)
    if Path(target).is_file():
        return settings_of_file(Path(target), asked)
    if target.endswith(".conf"):
        raise UsageError(f"{target}: no such file")
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="pgclinic-assay-")))
    return settings_of_server(target, asked, folder, live.stage)
