"""What was run, on what, at what cost, and how to run it again, as rows of a label and its content."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from pgclinic.model.run import RunInfo
from pgclinic.model.study import Condition, Holder, Profile, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.cost import cost_of
from pgclinic.report.wording import claim_of
from pgclinic.study.figures import count, number, percent

Rows = tuple[tuple[str, str], ...]


def started(run: RunInfo) -> str:
    """When the run began, in UTC, so that the report reads the same everywhere."""
    return datetime.fromtimestamp(run.started_epoch_us / 1e6, UTC).strftime("%d %B %Y, %H:%M UTC")


def arm_rows(study: Study, trials: Sequence[TrialRecord]) -> tuple[tuple[str, str, str], ...]:
    """Arm, what it is, and what sets it apart: its settings and condition as they were resolved for its trials."""
    rows = []
    for name, arm in study.arms.items():
        own = next((trial.spec for trial in trials if trial.spec.arm == name), None)
        settings = own.settings if own is not None else arm.settings
        condition = own.condition if own is not None else arm.condition
        parts = [f"{key} = {value}" for key, value in sorted(settings.items())]
        parts.extend(_condition_words(condition))
        rows.append((name, arm.about, "; ".join(parts) or "the server's defaults"))
    return tuple(rows)


def _condition_words(condition: Condition | None) -> list[str]:
    if condition is not None and condition.horizon_held_by is Holder.SESSION:
        return ["horizon held by a session"]
    return []


def workload_rows(run: RunInfo, study: Study, verdict: Verdict) -> Rows:
    """Server, clients and timing."""
    workload = study.workload
    told = f"PostgreSQL {verdict.server_version}" if verdict.server_version else ""
    protocol = f"{workload.protocol.value} protocol"
    rows = [
        ("Server", run.server if run.server.startswith(told) else f"{run.server}; {told}"),
        ("Clients", f"{workload.clients}, {protocol}; each begins its next transaction as soon as one has ended"),
    ]
    profile = study.profiles.get(run.profile)
    if profile is not None:
        rows.append(("Timing", _timing(profile)))
    tails = ", ".join(sorted({f"{claim_of(study, claim).tail_s:g} s" for claim in verdict.claims}))
    rows.append(("Compared", f"the last {tails} of every trial"))
    return tuple(rows)


def _timing(profile: Profile) -> str:
    measured = ", ".join(f"{arm} {length:g} s" for arm, length in profile.measure_s.items())
    blocks = f"{profile.blocks_min} to {profile.blocks_max} blocks"
    return f"{profile.warm_up_s:g} s of warm-up, then measured: {measured}; {blocks}"


def machine_rows(run: RunInfo) -> Rows:
    machine = run.machine
    extras = [f"governor {machine.governor}"] if machine.governor else []
    if machine.autogroup is not None:
        extras.append(f"autogroup {'on' if machine.autogroup else 'off'}")
    return (
        ("CPU", f"{machine.cpu_model}, {count(machine.cores, 'core')}, {machine.architecture}"),
        ("Memory", f"{machine.memory_bytes / 1024**3:.1f} GiB"),
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
        ("Server", f"{cost.server_cores:.2f} of {count(cost.cores, 'core')}"),
        ("Load engine", f"{cost.client_cores:.2f} cores"),
        ("Observers", f"{percent(cost.observer_share)} of the machine"),
        ("Everything else", f"{cost.others_cores:.2f} cores"),
    ]
    if cost.pressure_share is not None:
        rows.append(("Waiting for a CPU", f"{percent(cost.pressure_share)} of the time (/proc/pressure/cpu)"))
    return tuple(rows)


def trial_rows(trials: Sequence[TrialRecord]) -> tuple[tuple[str, ...], ...]:
    """Every trial in the order in which it ran: number, block, arm, TPS, p50 and p99 latency, remarks."""
    return tuple(_trial_row(trial) for trial in sorted(trials, key=lambda trial: trial.spec.number))


def _trial_row(trial: TrialRecord) -> tuple[str, ...]:
    head = (str(trial.spec.number), str(trial.spec.block), trial.spec.arm)
    load = trial.load
    if trial.outcome is TrialOutcome.FAILED or load is None:
        return (*head, "-", "-", "-", f"failed: {trial.failure or 'no load'}")
    notes = [doubt.text for doubt in trial.doubts]
    if load.failed:
        notes.append(f"{count(load.failed, 'transaction')} failed")
    latencies = (f"{number(load.latency.p50_us / 1000)} ms", f"{number(load.latency.p99_us / 1000)} ms")
    return (*head, number(load.tps), *latencies, "; ".join(notes) or "fine")


def repeat_commands(run: RunInfo, folder: str) -> tuple[tuple[str, str], ...]:
    """What to type, and what it does."""
    again = ["pgclinic", "study", "run", run.name]
    if run.profile in ("quick", "full"):
        again.append(f"--{run.profile}")
    again.extend(["--seed", str(run.seed)])
    return (
        (shlex.join(again), "run the same trials in the same order, on the machine where you type it"),
        (shlex.join(["pgclinic", "study", "judge", folder]), "judge these trials again; needs no server"),
    )
