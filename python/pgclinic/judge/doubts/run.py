"""How far the trials can be trusted: doubts gathered over a run, and the refusal on a starved machine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.model.calibration import Calibration, RefusalKind
from pgclinic.model.doubt import CalibrationRefused, Doubt, DoubtExtent, DoubtKind, DoubtUnit
from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord
from pgclinic.trial.machine_doubts import different_machine

#: A trial counts as starved when it could not use this share of the CPU time it was ready to use.
STARVED_SHARE = 0.5

#: The arms of an interleaved block share every wave of noise. Only if others took shares of the CPU that differ by more
#: than this between its arms does their ratio have the neighbours in it.
UNEVEN_SHARE = 0.2

#: With more than this share of starved trials the ratio is the neighbours' doing as much as the arms'.
STARVED_TRIALS = 1 / 3

#: A doubt, and the number of the trial or the block that it was in.
Found = tuple[int, Doubt]


def gathered_doubts(trials: Sequence[TrialRecord]) -> tuple[Doubt, ...]:
    """One doubt a kind, the worst one with how many trials had it; the most frequent kind first."""
    by_kind: dict[DoubtKind, list[Found]] = {}
    for trial in trials:
        for doubt in trial.doubts:
            by_kind.setdefault(doubt.kind, []).append((trial.spec.number, doubt))
    one_a_kind = [(within(seen), gathered(seen, DoubtUnit.TRIAL, len(trials))) for seen in by_kind.values()]
    return tuple(doubt for _, doubt in sorted(one_a_kind, key=lambda pair: (-pair[0], pair[1].kind.value)))


def within(found: Sequence[Found]) -> int:
    """In how many trials, or blocks, a doubt was; one may have it twice."""
    return len({number for number, _ in found})


def gathered(found: Sequence[Found], unit: DoubtUnit, total: int) -> Doubt:
    """The worst of several doubts of one kind, the earliest of those, with where it was found."""
    number, worst = max(found, key=lambda one: (one[1].share or 0.0, -one[0]))
    return replace(worst, extent=DoubtExtent(unit=unit, within=within(found), total=total, worst=number))


def doubts_of_run(info: RunInfo, calibration: Calibration | None) -> tuple[Doubt, ...]:
    """What speaks against the run as a whole, whatever its trials say."""
    found = [different_machine(info.machine, other) for other in info.other_machines]
    doubts = [doubt for doubt in found if doubt is not None]
    if calibration is not None and calibration.refusal is not None:
        failed = calibration.refusal.kind is RefusalKind.ARMS_DIFFER
        kind = DoubtKind.CALIBRATION_FAILED if failed else DoubtKind.CALIBRATION_REFUSED
        doubts.append(Doubt(kind=kind, facts=CalibrationRefused(refusal=calibration.refusal)))
    return tuple(doubts)


def different_machines(trials: Sequence[TrialRecord]) -> tuple[Doubt, ...]:
    """The first two hosts of a fleet that differ; a block has one host, but blocks of unlike hosts are put together."""
    machines = list(dict.fromkeys(trial.machine for trial in trials if trial.machine is not None))
    found = (different_machine(machines[0], other) for other in machines[1:])
    return next(((doubt,) for doubt in found if doubt is not None), ())


def gate_failed(beforehand: Sequence[Doubt]) -> Doubt | None:
    """The failure of the A/A gate, if it failed: equal arms differed, so no difference of others can be believed."""
    return next((doubt for doubt in beforehand if doubt.kind is DoubtKind.CALIBRATION_FAILED), None)


def starved_trials(trials: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """Trials whose CPU was taken by others to a degree that spoils the ratio of their block."""
    starved = [trial for trial in trials if any(_starves(doubt) for doubt in trial.doubts)]
    uneven = _uneven_blocks(trials) if starved else frozenset()
    return tuple(trial for trial in starved if not _is_interleaved(trial) or trial.spec.block in uneven)


def _uneven_blocks(trials: Sequence[TrialRecord]) -> frozenset[int]:
    """Interleaved blocks in whose arms others took unlike shares of the CPU."""
    shares: dict[int, list[float]] = {}
    for trial in trials:
        share = _others_share(trial)
        if _is_interleaved(trial) and share is not None:
            shares.setdefault(trial.spec.block, []).append(share)
    return frozenset(block for block, seen in shares.items() if max(seen) - min(seen) > UNEVEN_SHARE)


def _is_interleaved(trial: TrialRecord) -> bool:
    return trial.load is not None and trial.load.windows is not None


def _others_share(trial: TrialRecord) -> float | None:
    cpu = trial.cpu
    return cpu.others_s / (cpu.elapsed_s * cpu.cores) if cpu is not None and cpu.elapsed_s > 0 else None


def refused(trials: Sequence[TrialRecord]) -> bool:
    """Whether too many of the trials used were starved for any word but *invalid*."""
    return bool(trials) and len(starved_trials(trials)) / len(trials) > STARVED_TRIALS


def _starves(doubt: Doubt) -> bool:
    return doubt.kind is DoubtKind.STARVED_CPU and doubt.share is not None and doubt.share >= STARVED_SHARE
