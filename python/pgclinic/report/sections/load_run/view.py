"""What a bench ran: its load, the settings of its server, its scripts."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.bench import BenchResult
from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord
from pgclinic.report.reported import ReportedBench
from pgclinic.report.words.figures import count, number

Rows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LoadRun:
    """``scripts`` are name, weight and text; ``settings`` are those that are not the server's defaults."""

    load: Rows
    settings: Rows
    scripts: tuple[tuple[str, int, str], ...]


def load_run(one: ReportedBench) -> LoadRun:
    return LoadRun(load_rows(one.run, one.result), tuple(sorted(one.trial.settings.items())), _scripts(one.trial))


def load_rows(run: RunInfo, result: BenchResult) -> Rows:
    """What ran, and how much of it."""
    options, load = result.options, result.load
    sessions = f"{count(options.clients, 'client')} in {count(options.threads, 'thread')}"
    warm_up = f" after {load.warm_up_s:g} s of warm-up" if load.warm_up_s else ""
    return (
        ("Server", f"{run.server}, {result.host}"),
        ("Clients", f"{sessions}, {options.protocol.value} protocol"),
        ("Pace", pace_words(result)),
        ("Timing", f"{load.measured_s:.1f} s measured{warm_up}"),
        ("Transactions", f"{load.transactions:,} committed, {load.failed:,} failed"),
        ("Scale", f"{result.scale:,}"),
    )


def pace_words(result: BenchResult) -> str:
    if result.load.offered is not None and result.load.measured_s > 0:
        return f"open loop, {number(result.load.offered / result.load.measured_s)} TPS offered"
    return "closed loop: each begins its next transaction as soon as one has ended"


def _scripts(trial: TrialRecord) -> tuple[tuple[str, int, str], ...]:
    return tuple((one.name, one.weight, one.text) for one in getattr(trial.spec.traffic, "scripts", ()))
