"""A run that was cut off is taken up again: what is still to run of its plan, and whether it may be here. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.model.run import Machine, RunInfo
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.trial.machine_doubts import different_machine

Blocks = Sequence[tuple[TrialSpec, ...]]


def still_to_run(blocks: Blocks, done: Sequence[TrialRecord], last_number: int) -> Iterator[tuple[TrialSpec, ...]]:
    """What each block still lacks, in its order; numbers go on from ``last_number``, for none is ever used twice."""
    have = {(trial.spec.block, trial.spec.arm) for trial in done if not _was_interrupted(trial)}
    number = last_number
    for block in blocks:
        orders = []
        for spec in block:
            if (spec.block, spec.arm) not in have:
                number += 1
                orders.append(replace(spec, number=number))
        yield tuple(orders)


def _was_interrupted(trial: TrialRecord) -> bool:
    return trial.load is not None and trial.load.stopped == "interrupted"


def refuse_another_plan(blocks: Blocks, done: Sequence[TrialRecord]) -> None:
    """Raise UsageError where a trial that was run is not in the plan just as it was: then the rest would be another
    experiment. Another version of this tool may plan otherwise."""
    for trial in done:
        block = blocks[trial.spec.block - 1] if 1 <= trial.spec.block <= len(blocks) else ()
        spec = next((spec for spec in block if spec.arm == trial.spec.arm), None)
        if spec is None or replace(spec, number=trial.spec.number) != trial.spec:
            raise UsageError(
                f"trial {trial.spec.number} ({trial.spec.arm}) of that run is not what would be run now",
                hint="resume it with the version of pgclinic that began it, or run the study anew",
            )


def with_machine(info: RunInfo, here: Machine, *, pool: bool) -> RunInfo:
    """The run's info with this machine among its machines. Raises UsageError for another one unless ``pool``."""
    found = [different_machine(known, here) for known in (info.machine, *info.other_machines)]
    if None in found:
        return info
    if not pool and found[0] is not None:
        raise UsageError(
            f"that run was begun on another machine: {found[0].text}",
            hint="resume it there; or say --pool-machines, and the verdict will carry a doubt",
        )
    return replace(info, other_machines=(*info.other_machines, here))
