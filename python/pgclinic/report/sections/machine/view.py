"""The machine of a run, and what the run took of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord
from pgclinic.report.sections.memory.groups import size
from pgclinic.report.words.cost import observers_words
from pgclinic.report.words.figures import count, percent
from pgclinic.samples.machine_cost import CoresUsed, cost_of

Rows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MachineView:
    machine: Rows
    cost: Rows


def machine_view(run: RunInfo, trials: Sequence[TrialRecord]) -> MachineView:
    return MachineView(machine_rows(run), cost_rows(trials))


def machine_rows(run: RunInfo) -> Rows:
    machine = run.machine
    extras = [f"governor {machine.governor}"] if machine.governor else []
    if machine.autogroup is not None:
        extras.append(f"autogroup {'on' if machine.autogroup else 'off'}")
    return (
        ("CPU", f"{machine.cpu_model}, {count(machine.cores, 'core')}, {machine.architecture}"),
        ("Memory", size(machine.memory_bytes)),
        ("System", ", ".join([machine.kernel, *extras])),
        ("pgclinic", f"{run.tool.pgclinic}, load engine {run.tool.engine} ({run.tool.engine_profile} build)"),
        ("Python", run.tool.python),
        ("Seed", str(run.seed)),
    )


def cost_rows(trials: Sequence[TrialRecord]) -> Rows:
    cost = cost_of(trials)
    if cost is None:
        return ()
    rows = [
        ("Server", _server(cost)),
        ("Load engine", f"{cost.client_cores:.2f} cores"),
        ("Observers", observers_words(cost)),
        ("Everything else", f"{cost.others_cores:.2f} cores"),
    ]
    if cost.pressure_share is not None:
        rows.append(("Waiting for a CPU", f"{percent(cost.pressure_share)} of the time (/proc/pressure/cpu)"))
    return tuple(rows)


def _server(cost: CoresUsed) -> str:
    if cost.server_cores is None:
        return "its processes are not visible from this machine"
    return f"{cost.server_cores:.2f} of {count(cost.cores, 'core')}"
