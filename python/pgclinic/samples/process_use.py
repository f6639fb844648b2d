"""What each kind of process took of the machine while measuring, as means over the trials of an arm. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgclinic.model.processes import KindRow, ProcessKind, ProcessSample, ProcessUse
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.stats.summary import mean

#: What the kernel only reports of processes that this user may look into.
_OF_IO: tuple[Callable[[ProcessUse], float], ...] = (
    lambda use: use.read_calls,
    lambda use: use.write_calls,
    lambda use: use.read_chars,
    lambda use: use.write_chars,
)


@dataclass(frozen=True)
class KindUse:
    """One kind in one arm, means over its trials: rates a second, and bytes of memory at the end.

    ``io`` are read calls, write calls, bytes read and bytes written; None where they could not be read.
    """

    cpu: float
    io: tuple[float, ...] | None
    voluntary_switches: float
    involuntary_switches: float
    memory_bytes: float
    alive: float

    @property
    def idle(self) -> bool:
        """Less than a thousandth of a processor and hardly a call."""
        return self.cpu < 1e-3 and (self.io is None or sum(self.io[:2]) < 1)


def was_watched(trial: TrialRecord) -> bool:
    """Whether the processes of the trial were sampled."""
    return trial.outcome is TrialOutcome.DONE and trial.load is not None and len(trial.processes) > 1


def kind_use(kind: ProcessKind, trials: Sequence[TrialRecord]) -> KindUse | None:
    """The mean over the trials in which such a process was seen; None where there was none."""
    each = [one for trial in trials if (one := _used_in(kind, trial)) is not None]
    if not each:
        return None
    known = [use.io for use in each if use.io is not None]
    return KindUse(
        cpu=mean([one.cpu for one in each]),
        io=tuple(mean(column) for column in zip(*known, strict=True)) if known else None,
        voluntary_switches=mean([use.voluntary_switches for use in each]),
        involuntary_switches=mean([use.involuntary_switches for use in each]),
        memory_bytes=mean([use.memory_bytes for use in each]),
        alive=mean([one.alive for one in each]),
    )


def _used_in(kind: ProcessKind, trial: TrialRecord) -> KindUse | None:
    end_s = trial.load.span_s if trial.load is not None else 0.0
    inside = [sample for sample in trial.processes if sample.at_s <= end_s] or list(trial.processes)
    rows = [row for sample in trial.processes if (row := sample.of(kind)) is not None]
    if not rows or end_s <= 0:
        return None

    def rate(value_of: Callable[[ProcessUse], float]) -> float:
        first, last = (_use_at(kind, trial.processes, at_s, value_of) for at_s in (0.0, end_s))
        return (last - first) / end_s

    last = inside[-1].of(kind) or rows[-1]
    return KindUse(
        cpu=rate(lambda use: use.cpu_s),
        io=tuple(rate(value_of) for value_of in _OF_IO) if all(row.io_known for row in rows) else None,
        voluntary_switches=rate(lambda use: use.voluntary_switches),
        involuntary_switches=rate(lambda use: use.involuntary_switches),
        memory_bytes=last.rss_anon_bytes,
        alive=last.alive,
    )


def _use_at(
    kind: ProcessKind, samples: Sequence[ProcessSample], at_s: float, value_of: Callable[[ProcessUse], float]
) -> float:
    """What had been used by then, on the straight line between two samples; outside them the nearest one's."""
    for before, after in pairwise(samples):
        if before.at_s <= at_s <= after.at_s and after.at_s > before.at_s:
            share = (at_s - before.at_s) / (after.at_s - before.at_s)
            first, last = _value(before.of(kind), value_of), _value(after.of(kind), value_of)
            return first + share * (last - first)
    return _value(samples[0 if at_s < samples[0].at_s else -1].of(kind), value_of)


def _value(row: KindRow | None, value_of: Callable[[ProcessUse], float]) -> float:
    return value_of(row.use) if row is not None else 0.0
