"""Whether an earlier run may be resumed here, and on which machines it then ran. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.model.doubt import Doubt, MachinesDiffer
from pgclinic.model.machine import Machine
from pgclinic.model.run import RunInfo
from pgclinic.trial.machine_doubts import different_machine


def with_machine(info: RunInfo, here: Machine, *, pool: bool) -> RunInfo:
    """The run's info with this machine among its machines. Raises UsageError for another one unless ``pool``."""
    found = [different_machine(known, here) for known in (info.machine, *info.other_machines)]
    if None in found:
        return info
    if not pool:
        raise UsageError(
            f"that run was started on a different machine: {_apart(found[0])}",
            hint="resume it there, or use --pool-machines, which adds a doubt to the verdict",
        )
    return replace(info, other_machines=(*info.other_machines, here))


def _apart(differs: Doubt | None) -> str:
    """What is not the same, as an error names it: cores 2 and 64."""
    facts = differs.facts if differs is not None else None
    assert isinstance(facts, MachinesDiffer)
    return "; ".join(
        f"{difference.what.replace('_', ' ')} {difference.one} and {difference.other}" for difference in facts.apart
    )
