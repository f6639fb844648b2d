"""The road of ``pgclinic assay``: two configurations, what is between them, an answer."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pgclinic.cli.assay import AssayRequest
from pgclinic.cli.exit_codes import UNDECIDED
from pgclinic.cli.live import LiveView
from pgclinic.cli.tuning_end import finish_tuning, run_tuning
from pgclinic.cli.tuning_run import TuningArm, about, new_experiment, resumed_experiment
from pgclinic.cli.tuning_settings import (
    SettingsInQuestion,
    say_left_out,
    settings_of_base,
    settings_of_file,
    settings_of_server,
    settings_of_twin,
)
from pgclinic.errors import UsageError
from pgclinic.experiment.road import Experiment
from pgclinic.lab.temporary import temporary_folder
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import Assay, AssayWord
from pgclinic.report.live.view import assay_lines_so_far
from pgclinic.settings.portable import PortableSettings
from pgclinic.settings.words import parse_settings
from pgclinic.tune.ask import Strategy
from pgclinic.tune.assay import assay, assay_so_far
from pgclinic.tune.difference import BASE, CHANGED, Difference
from pgclinic.tune.ledger import Ledger


def run_assay(request: AssayRequest) -> int:
    """Find which settings carry the difference, print them, and return the exit code."""
    with ExitStack() as stack:
        live = stack.enter_context(LiveView(sys.stderr, plain=request.tuning.plain))
        experiment = _experiment(request, stack, live)
        arms = experiment.plan.arms
        difference = Difference.between(arms[BASE].settings, arms[CHANGED].settings)
        seed = experiment.info.seed
        ledgers: list[Ledger] = []

        def strategy(ledger: Ledger) -> Strategy[Assay]:
            ledgers[:] = [ledger]
            return assay(difference, ledger, seed=seed)

        live.beside = lambda _: [
            line for ledger in ledgers for line in assay_lines_so_far(assay_so_far(difference, ledger))
        ]
        found = run_tuning(experiment, arms[BASE], strategy, live)
    finish_tuning(experiment, found, as_json=request.tuning.as_json)
    return UNDECIDED if found.word in (AssayWord.REFUSED, AssayWord.INCONCLUSIVE) else 0


def _experiment(request: AssayRequest, stack: ExitStack, live: LiveView) -> Experiment:
    if request.tuning.run.resume is not None:
        return resumed_experiment(RunKind.ASSAY, request.tuning, live)[0]
    asked = _in_question(request, stack, live)
    say_left_out(asked.portable, live)
    base = settings_of_base(request.base, request.server, live)
    own = parse_settings(request.settings)
    changed = {**(base if request.target is None else {}), **asked.portable.settings, **own}
    if changed == base:
        raise UsageError("the settings do not differ from the base", hint="name a file, a server or --set NAME=VALUE")
    server = asked.server.asked()
    arms = {BASE: TuningArm(base, about(base), server), CHANGED: TuningArm(changed, about(changed), server)}
    options = replace(request.tuning, workload=asked.workload)
    # The settings of an original are in question themselves.
    return new_experiment(RunKind.ASSAY, options, arms, live, as_original=False)


def _in_question(request: AssayRequest, stack: ExitStack, live: LiveView) -> SettingsInQuestion:
    target, server, workload = request.target, request.server, request.tuning.workload
    if target is None:
        if not request.settings:
            raise UsageError(
                "there is nothing to assay",
                hint="name a postgresql.conf, a server or a twin, or write --set NAME=VALUE",
            )
        return SettingsInQuestion(PortableSettings({}, ()), workload, server)
    if target.endswith(".twin"):
        return settings_of_twin(Path(target), workload, server)
    if Path(target).is_file():
        return SettingsInQuestion(settings_of_file(Path(target), server), workload, server)
    if target.endswith(".conf"):
        raise UsageError(f"{target}: no such file")
    folder = stack.enter_context(temporary_folder("assay"))
    return settings_of_server(target, workload, server, folder, live.stage)
