"""How far the trials can be trusted: doubts gathered over a run, and the refusal on a starved machine."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.prelude import Prelude, RefusalKind
from pgclinic.model.run import RunInfo
from pgclinic.model.trial import Doubt, DoubtKind, TrialRecord
from pgclinic.study.figures import percent
from pgclinic.trial.machine_doubts import different_machine

#: A trial counts as starved when it could not use this share of the CPU time it was ready to use.
STARVED_SHARE = 0.5

#: With more than this share of starved trials the ratio is the neighbours' doing as much as the arms'.
STARVED_TRIALS = 1 / 3


def gathered_doubts(trials: Sequence[TrialRecord]) -> tuple[Doubt, ...]:
    """One doubt a kind, the worst one's text with how many trials had it; the most frequent kind first."""
    by_kind: dict[DoubtKind, list[tuple[TrialRecord, Doubt]]] = {}
    for trial in trials:
        for doubt in trial.doubts:
            by_kind.setdefault(doubt.kind, []).append((trial, doubt))
    gathered = [(_trials_of(seen), _merged(seen, len(trials))) for seen in by_kind.values()]
    return tuple(doubt for _, doubt in sorted(gathered, key=lambda pair: (-pair[0], pair[1].kind.value)))


def doubts_of_run(info: RunInfo, prelude: Prelude | None) -> tuple[Doubt, ...]:
    """What speaks against the run as a whole, whatever its trials say."""
    found = [different_machine(info.machine, other) for other in info.other_machines]
    doubts = [finding.as_doubt(DoubtKind.DIFFERENT_MACHINE) for finding in found if finding is not None]
    if prelude is not None and prelude.refusal is not None:
        refusal = prelude.refusal
        failed = refusal.kind is RefusalKind.ARMS_DIFFER
        kind = DoubtKind.CALIBRATION_FAILED if failed else DoubtKind.PRELUDE_REFUSED
        doubts.append(Doubt(kind=kind, text=refusal.text, advice=refusal.advice))
    return tuple(doubts)


def gate_failed(beforehand: Sequence[Doubt]) -> Doubt | None:
    """The failure of the A/A gate, if it failed: equal arms differed, so no difference of others can be believed."""
    return next((doubt for doubt in beforehand if doubt.kind is DoubtKind.CALIBRATION_FAILED), None)


def starved_trials(trials: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """Trials whose CPU was taken by others to a degree that spoils them."""
    return tuple(trial for trial in trials if any(_starves(doubt) for doubt in trial.doubts))


def refused(trials: Sequence[TrialRecord]) -> bool:
    """Whether too many of the trials used were starved for any word but *invalid*."""
    return bool(trials) and len(starved_trials(trials)) / len(trials) > STARVED_TRIALS


def _starves(doubt: Doubt) -> bool:
    return doubt.kind is DoubtKind.STARVED_CPU and doubt.share is not None and doubt.share >= STARVED_SHARE


def _trials_of(seen: Sequence[tuple[TrialRecord, Doubt]]) -> int:
    return len({trial.spec.number for trial, _ in seen})


def _merged(seen: Sequence[tuple[TrialRecord, Doubt]], trials: int) -> Doubt:
    worst_trial, worst = max(seen, key=lambda pair: (pair[1].share or 0.0, -pair[0].spec.number))
    share = f", worst {percent(worst.share)}" if worst.share is not None else ""
    number = f"in trial {worst_trial.spec.number}" if _trials_of(seen) == 1 else f"trial {worst_trial.spec.number}"
    text = f"in {_trials_of(seen)} of {trials} trials{share} ({number}): {worst.text}"
    return Doubt(kind=worst.kind, text=text, advice=worst.advice, share=worst.share)
