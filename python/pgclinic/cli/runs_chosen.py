"""Which runs ``pgclinic runs`` is about, and their deletion."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_age_s
from pgclinic.errors import UnknownNameError
from pgclinic.model.output import RunState
from pgclinic.model.run import RunKind
from pgclinic.report.run_list import state_of
from pgclinic.report.words.answers import ANSWER_WORDS, answer_word
from pgclinic.report.words.figures import size
from pgclinic.store.run_list import FoundRun, delete_run, runs_below


@dataclass(frozen=True)
class Wanted:
    """What a run has to be; None is any. ``answer`` is the word of an answer or a state."""

    kind: RunKind | None = None
    name: str | None = None
    answer: str | None = None
    older_than_s: float = 0.0

    @classmethod
    def asked(cls, kind: str | None, name: str | None, answer: str | None, older_than: str | None) -> Wanted:
        """From the words of a command line. Raises UsageError."""
        kinds = [known.value for known in RunKind]
        if kind is not None and kind not in kinds:
            raise UnknownNameError("kind", kind, kinds, where="--kind")
        answers = {*ANSWER_WORDS, *(state.value for state in RunState)}
        if answer is not None and answer.lower() not in answers:
            raise UnknownNameError("answer", answer, answers, where="--answer")
        return cls(
            kind=RunKind(kind) if kind is not None else None,
            name=name,
            answer=answer.lower() if answer is not None else None,
            older_than_s=parse_age_s(older_than, "--older-than") if older_than is not None else 0.0,
        )

    def has(self, run: FoundRun, now_s: float) -> bool:
        """Whether the run is one of these; of one that cannot be read nothing is known but that."""
        info = run.info
        words = {state_of(run).value, *([answer_word(run.answer)] if run.answer is not None else [])}
        if self.answer is not None and self.answer not in words:
            return False
        if info is None:
            return self.kind is None and self.name is None and not self.older_than_s
        is_old = not self.older_than_s or now_s - info.started_epoch_us / 1e6 > self.older_than_s
        return self.kind in (None, info.kind) and self.name in (None, info.name) and is_old


def chosen_runs(parent: Path, wanted: Wanted) -> list[FoundRun]:
    """The newest first, and behind them those that cannot be read. Raises UsageError."""
    now_s = time.time()
    found = [run for run in runs_below(parent) if wanted.has(run, now_s)]
    return sorted(found, key=lambda run: -run.info.started_epoch_us if run.info is not None else 0)


def old_runs(parent: Path, wanted: Wanted, keep: int | None) -> list[FoundRun]:
    """Those that are wanted but the newest ``keep`` of each kind and name, whatever their age. Raises UsageError."""
    now_s = time.time()
    whatever_age = dataclasses.replace(wanted, older_than_s=0.0)
    return [run for run in _not_kept(chosen_runs(parent, whatever_age), keep) if wanted.has(run, now_s)]


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
