"""What was run, on what, at what cost, and how to run it again, as rows of a label and its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import Script
from pgclinic.model.run import RunInfo
from pgclinic.model.study import ArmFile, Condition, Profile, Study, WarmUpEnd
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.facts import utc_words
from pgclinic.report.words.figures import count, number
from pgclinic.report.words.verdicts import claim_of
from pgclinic.report.words.workload import clients_of, tpcc_rows, warehouses_of

Rows = tuple[tuple[str, str], ...]


def started(run: RunInfo) -> str:
    """When the run began, in UTC, so that the report reads the same everywhere."""
    return utc_words(run.started_epoch_us / 1e6)


def arm_rows(study: Study, trials: Sequence[TrialRecord]) -> tuple[tuple[str, str, str], ...]:
    """Arm, what it is, and what sets it apart: its settings and condition as they were resolved for its trials."""
    rows = []
    for name, arm in study.arms.items():
        own = next((trial.spec for trial in trials if trial.spec.arm == name), None)
        settings = own.settings if own is not None else arm.settings
        condition = own.condition if own is not None else arm.condition
        parts = [f"{key} = {value}" for key, value in sorted(settings.items())]
        parts.extend([*_condition_words(condition), *_change_words(arm)])
        rows.append((name, arm.about, "; ".join(parts) or "default settings"))
    return tuple(rows)


def _condition_words(condition: Condition | None) -> list[str]:
    words = []
    if condition is not None and condition.horizon_held_by is not None:
        words.append(f"horizon held by a {condition.horizon_held_by.value.replace('_', ' ')}")
    if condition is not None and condition.replay_horizon is not None:
        pace = f" in {condition.replay_s:g} s" if condition.replay_s is not None else ""
        words.append(f"horizon held as in {condition.replay_horizon}{pace}")
    if condition is not None and condition.idle_sessions:
        words.append(count(condition.idle_sessions, "idle session"))
    return words


def _change_words(arm: ArmFile) -> list[str]:
    """What an arm does otherwise beyond settings and condition."""
    words = [f"PostgreSQL {arm.version}"] if arm.version is not None else []
    words += [f":{name} = {value}" for name, value in sorted(arm.variables.items())]
    change = arm.workload
    if change is None:
        return words
    words += [count(change.clients, "client")] if change.clients is not None else []
    changed_parts = (("data", change.fill), ("scripts", change.scripts), ("probe", change.probe))
    return [*words, *(f"other {name}" for name, changed in changed_parts if changed is not None)]


def workload_rows(run: RunInfo, study: Study, verdict: Verdict, trials: Sequence[TrialRecord] = ()) -> Rows:
    """Server, workload where it is no script, clients and timing."""
    workload = study.workload
    version = f"PostgreSQL {verdict.server_version}" if verdict.server_version else ""
    protocol = f"{workload.protocol.value} protocol"
    profile = study.profiles.get(run.profile)
    clients = clients_of(study, profile, trials)
    rows = [
        ("Server", run.server if run.server.startswith(version) else f"{run.server}; {version}"),
        *(tpcc_rows(workload.tpcc, warehouses_of(profile, trials)) if workload.tpcc is not None else ()),
        ("Clients", f"{clients}, {protocol}; each starts its next transaction as soon as one has ended"),
    ]
    if profile is not None:
        rows.append(("Timing", _timing(profile)))
    tails = {claim_of(study, claim).tail_s for claim in verdict.claims}
    ends = ", ".join(f"{tail:g} s" for tail in sorted(tail for tail in tails if tail is not None))
    parts = ([f"the last {ends} of every trial"] if ends else []) + (["whole trials"] if None in tails else [])
    rows.append(("Compared", "; ".join(parts)))
    return tuple(rows)


def _timing(profile: Profile) -> str:
    measured = ", ".join(f"{arm} {length:g} s" for arm, length in profile.measure_s.items())
    blocks = block_range(profile)
    warm_up = f"{profile.warm_up_s:g} s of warm-up"
    if profile.warm_up_ends is WarmUpEnd.STEADY:
        warm_up = f"up to {warm_up}, until steady"
    return f"{warm_up}, then measured: {measured}; {blocks}"


def block_range(profile: Profile) -> str:
    """5 to 20 blocks, or 3 blocks where their number is fixed."""
    fixed = profile.blocks_fixed is not None
    return count(profile.blocks_max, "block") if fixed else f"{profile.blocks_min} to {profile.blocks_max} blocks"


def trial_rows(trials: Sequence[TrialRecord]) -> tuple[tuple[str, ...], ...]:
    """Every trial in the order in which it ran: number, block, arm, TPS, p50 and p99 latency, remarks."""
    return tuple(_trial_row(trial) for trial in sorted(trials, key=lambda trial: trial.spec.number))


def _trial_row(trial: TrialRecord) -> tuple[str, ...]:
    head = (str(trial.spec.number), str(trial.spec.block), trial.spec.arm)
    load = trial.load
    if trial.outcome is TrialOutcome.FAILED or load is None:
        return (*head, "-", "-", "-", f"failed: {trial.failure or 'no load'}")
    notes = [doubt_words(doubt).text for doubt in trial.doubts]
    if load.failed:
        notes.append(f"{count(load.failed, 'transaction')} failed")
    latencies = (f"{number(load.latency.p50_us / 1000)} ms", f"{number(load.latency.p99_us / 1000)} ms")
    return (*head, number(load.tps), *latencies, "; ".join(notes) or "fine")


@dataclass(frozen=True)
class WhatWasRun:
    """``arms`` and ``trials`` are rows of cells; texts that are empty were not used."""

    about: str
    workload: Rows
    arms: tuple[tuple[str, str, str], ...]
    fill: str
    scripts: tuple[Script, ...]
    probe: str
    trials: tuple[tuple[str, ...], ...]


def what_was_run(one: ReportedStudy) -> WhatWasRun:
    workload = one.study.workload
    return WhatWasRun(
        about=one.study.about,
        workload=workload_rows(one.run, one.study, one.verdict, one.trials),
        arms=arm_rows(one.study, one.trials),
        fill=workload.fill or "",
        scripts=workload.scripts,
        probe=workload.probe or "",
        trials=trial_rows(one.trials),
    )
