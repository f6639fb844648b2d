"""CPU and I/O by process: what each kind of process took while measuring, the control and the arm below each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.processes import ProcessKind
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.parts.table import PageTable
from pgclinic.report.sections.server.series import ENDED
from pgclinic.report.words.figures import count, number, size
from pgclinic.report.words.verdicts import claim_of
from pgclinic.samples.process_use import KindUse, kind_use, was_watched

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


@dataclass(frozen=True)
class MachineUse:
    """``notes`` say what is left out of the table and what a word in it means."""

    table: PageTable
    notes: tuple[str, ...]


def machine_use(study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> MachineUse | None:
    """The headline's control and arm; None where the processes were not seen."""
    claim = claim_of(study, verdict.headline)
    arms = tuple(dict.fromkeys((claim.control, claim.arm)))
    return use_by_arm({arm: [trial for trial in trials if trial.spec.arm == arm] for arm in arms})


def use_by_arm(trials: Mapping[str, Sequence[TrialRecord]]) -> MachineUse | None:
    """The trials of each arm; None where the processes were not seen."""
    arms = tuple(trials)
    seen = {arm: [trial for trial in own if was_watched(trial)] for arm, own in trials.items()}
    used = {(kind, arm): kind_use(kind, seen[arm]) for kind in ProcessKind for arm in arms if seen[arm]}
    known = {key: one for key, one in used.items() if one is not None}
    if not known:
        return None
    busy = [kind for kind in ProcessKind if any(one.idle is False for (own, _), one in known.items() if own is kind)]
    idle = [kind.value for kind in ProcessKind if kind not in busy and any(own is kind for own, _ in known)]
    # The busiest first: nobody looks for the postmaster.
    busy.sort(key=lambda kind: -max(one.cpu for (own, _), one in known.items() if own is kind))
    rows = [_row(kind, arm, known.get((kind, arm))) for kind in busy for arm in arms]
    trials_seen = ", ".join(f"{arm} {count(len(seen[arm]), 'trial')}" for arm in arms)
    caption = f"By process type, means over the measured time of {trials_seen}"
    return MachineUse(table=PageTable(caption=caption, heads=_HEADS, rows=tuple(rows)), notes=_notes(busy, idle))


def _notes(busy: Sequence[ProcessKind], idle: Sequence[str]) -> tuple[str, ...]:
    notes = [f"Nearly idle: {', '.join(idle)}."] if idle else []
    if ProcessKind.ENDED in busy:
        notes.append(f"“{ENDED}” is the use of processes after their last sample.")
    return tuple(notes)


def _row(kind: ProcessKind, arm: str, used: KindUse | None) -> tuple[str, ...]:
    name = ENDED if kind is ProcessKind.ENDED else kind.value
    if used is None:
        return (name, arm, *([_NONE] * (len(_HEADS) - 2)))
    io = (_NONE,) * 4 if used.io is None else (*map(_rate, used.io[:2]), *map(_bytes, used.io[2:]))
    alive = f"{used.alive:,.0f}" if used.alive else _NONE
    switches = (_rate(used.voluntary_switches), _rate(used.involuntary_switches))
    return (name, arm, alive, f"{used.cpu:.3f}", *io, *switches, _bytes(used.memory_bytes))


def _rate(value: float) -> str:
    return number(round(value, 1))


def _bytes(value: float) -> str:
    return size(value) if value >= 1 else "0"
