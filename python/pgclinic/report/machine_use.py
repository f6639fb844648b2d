"""CPU and I/O by process: what each kind of process took while measuring, the control and the arm below each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgclinic.model.processes import KindRow, ProcessKind, ProcessSample, ProcessUse
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.arms_table import Table
from pgclinic.report.observed_series import ENDED
from pgclinic.report.wording import claim_of
from pgclinic.stats.summary import mean
from pgclinic.study.figures import count, number, size

_NONE = "-"
_HEADS = (
    "Process",
    "Arm",
    "Number",
    "CPU, s/s",
    "Read calls/s",
    "Write calls/s",
    "Read/s",
    "Written/s",
    "Voluntary switches/s",
    "Involuntary switches/s",
    "Anonymous memory",
)

#: What the kernel only tells of processes that this user may look into.
_OF_IO: tuple[Callable[[ProcessUse], float], ...] = (
    lambda use: use.read_calls,
    lambda use: use.write_calls,
    lambda use: use.read_chars,
    lambda use: use.write_chars,
)


@dataclass(frozen=True)
class MachineUse:
    """``notes`` say what is left out of the table and what a word in it means."""

    table: Table
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Used:
    """One kind in one arm, means over its trials: rates a second, and bytes of memory at the end."""

    cpu: float
    io: tuple[float, ...] | None
    waiting: float
    put_aside: float
    memory_bytes: float
    alive: float

    @property
    def idle(self) -> bool:
        """Less than a thousandth of a processor and hardly a call."""
        return self.cpu < 1e-3 and (self.io is None or sum(self.io[:2]) < 1)


def machine_use(study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> MachineUse | None:
    """The headline's control and arm; None where the processes were not seen."""
    claim = claim_of(study, verdict.headline)
    arms = tuple(dict.fromkeys((claim.control, claim.arm)))
    seen = {arm: [trial for trial in trials if trial.spec.arm == arm and _was_watched(trial)] for arm in arms}
    used = {(kind, arm): _used(kind, seen[arm]) for kind in ProcessKind for arm in arms if seen[arm]}
    told = {key: one for key, one in used.items() if one is not None}
    if not told:
        return None
    busy = [kind for kind in ProcessKind if any(one.idle is False for (own, _), one in told.items() if own is kind)]
    idle = [kind.value for kind in ProcessKind if kind not in busy and any(own is kind for own, _ in told)]
    # The busiest first: nobody looks for the postmaster.
    busy.sort(key=lambda kind: -max(one.cpu for (own, _), one in told.items() if own is kind))
    rows = [_row(kind, arm, told.get((kind, arm))) for kind in busy for arm in arms]
    trials_seen = ", ".join(f"{arm} {count(len(seen[arm]), 'trial')}" for arm in arms)
    caption = f"By kind of process, means over the measured time of {trials_seen}"
    return MachineUse(table=Table(caption=caption, heads=_HEADS, rows=tuple(rows)), notes=_notes(busy, idle))


def _notes(busy: Sequence[ProcessKind], idle: Sequence[str]) -> tuple[str, ...]:
    notes = [f"Next to nothing: {', '.join(idle)}."] if idle else []
    if ProcessKind.ENDED in busy:
        notes.append(f"“{ENDED}” is what processes used after they were last seen alive.")
    return tuple(notes)


def _was_watched(trial: TrialRecord) -> bool:
    return trial.outcome is TrialOutcome.DONE and trial.load is not None and len(trial.processes) > 1


def _row(kind: ProcessKind, arm: str, used: _Used | None) -> tuple[str, ...]:
    name = ENDED if kind is ProcessKind.ENDED else kind.value
    if used is None:
        return (name, arm, *([_NONE] * (len(_HEADS) - 2)))
    io = (_NONE,) * 4 if used.io is None else (*map(_rate, used.io[:2]), *map(_bytes, used.io[2:]))
    alive = f"{used.alive:,.0f}" if used.alive else _NONE
    switches = (_rate(used.waiting), _rate(used.put_aside))
    return (name, arm, alive, f"{used.cpu:.3f}", *io, *switches, _bytes(used.memory_bytes))


def _rate(value: float) -> str:
    return number(round(value, 1))


def _bytes(value: float) -> str:
    return size(value) if value >= 1 else "0"


def _used(kind: ProcessKind, trials: Sequence[TrialRecord]) -> _Used | None:
    """The mean over the trials in which such a process was seen; None where there was none."""
    each = [one for trial in trials if (one := _used_in(kind, trial)) is not None]
    if not each:
        return None
    known = [one.io for one in each if one.io is not None]
    return _Used(
        cpu=mean([one.cpu for one in each]),
        io=tuple(mean(column) for column in zip(*known, strict=True)) if known else None,
        waiting=mean([one.waiting for one in each]),
        put_aside=mean([one.put_aside for one in each]),
        memory_bytes=mean([one.memory_bytes for one in each]),
        alive=mean([one.alive for one in each]),
    )


def _used_in(kind: ProcessKind, trial: TrialRecord) -> _Used | None:
    end_s = trial.load.measured_s if trial.load is not None else 0.0
    inside = [sample for sample in trial.processes if sample.at_s <= end_s] or list(trial.processes)
    rows = [row for sample in trial.processes if (row := sample.of(kind)) is not None]
    if not rows or end_s <= 0:
        return None

    def rate(value_of: Callable[[ProcessUse], float]) -> float:
        first, last = (_use_at(kind, trial.processes, at_s, value_of) for at_s in (0.0, end_s))
        return (last - first) / end_s

    last = inside[-1].of(kind) or rows[-1]
    return _Used(
        cpu=rate(lambda use: use.cpu_s),
        io=tuple(rate(one) for one in _OF_IO) if all(row.io_known for row in rows) else None,
        waiting=rate(lambda use: use.voluntary_switches),
        put_aside=rate(lambda use: use.involuntary_switches),
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
