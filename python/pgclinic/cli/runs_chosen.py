"""Which runs ``pgclinic runs`` is about, and their deletion."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pgclinic.cli.duration import parse_age_s
from pgclinic.model.run import RunKind
from pgclinic.report.runs.filter import RunFilter
from pgclinic.report.runs.list import run_output
from pgclinic.report.words.figures import size
from pgclinic.store.run_list import FoundRun, delete_run, runs_below


def asked_runs(kind: str | None, name: str | None, answer: str | None, older_than: str | None) -> RunFilter:
    """Which runs the options of a command line ask for. Raises UsageError."""
    older_than_s = parse_age_s(older_than, "--older-than") if older_than is not None else 0.0
    return RunFilter.asked(kind, answer, name=name, older_than_s=older_than_s)


def chosen_runs(parent: Path, wanted: RunFilter) -> list[FoundRun]:
    """The newest first, and behind them those that cannot be read. Raises UsageError."""
    now_s = time.time()
    found = [run for run in runs_below(parent) if wanted.has(run_output(run), now_s)]
    return sorted(found, key=lambda run: -run.info.started_epoch_us if run.info is not None else 0)


def old_runs(parent: Path, wanted: RunFilter, keep: int | None) -> list[FoundRun]:
    """Those that are wanted but the newest ``keep`` of each kind and name, whatever their age. Raises UsageError."""
    now_s = time.time()
    whatever_age = dataclasses.replace(wanted, older_than_s=0.0)
    return [run for run in _not_kept(chosen_runs(parent, whatever_age), keep) if wanted.has(run_output(run), now_s)]


def _not_kept(runs: Sequence[FoundRun], keep: int | None) -> list[FoundRun]:
    """All but the first ``keep`` of each kind and name; all without ``keep``."""
    seen: Counter[tuple[RunKind, str]] = Counter()
    left = []
    for run in runs:
        if run.info is not None:
            seen[run.info.kind, run.info.name] += 1
        if keep is None or run.info is None or seen[run.info.kind, run.info.name] > keep:
            left.append(run)
    return left


def delete(runs: Sequence[FoundRun]) -> None:
    """One after the other, each with a line. Raises UsageError, RunFailedError."""
    for run in runs:
        delete_run(run.path)
        print(f"deleted {run.path} ({size(run.size_bytes)})")
