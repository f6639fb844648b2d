"""Whether the blocks of a run are interleaved: the user's word, the study's, or what is safe."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.model.interleaving import SequentialKind
from pgclinic.model.plan import ExperimentPlan
from pgclinic.report.interleaving_text import interleaved_text, sequential_reason, sequential_text
from pgclinic.trial.window_plan import WINDOW_S

#: Arms that cannot take turns at all, whatever the user wants.
_IMPOSSIBLE = (SequentialKind.UNEQUAL_TIMES, SequentialKind.STEADY_WARM_UP)


def with_block_mode(
    plan: ExperimentPlan, memory_bytes: int | None, *, asked: bool | None
) -> tuple[ExperimentPlan, str]:
    """The plan with its mode, and the line that says it. Without ``asked`` blocks are interleaved where that is safe.

    Raises UsageError where arms that were to be interleaved cannot take turns.
    """
    why = why_sequential(plan, memory_bytes)
    if asked and why is not None and why.kind in _IMPOSSIBLE:
        raise UsageError(f"these blocks cannot be interleaved: {sequential_reason(why)}", hint="use --sequential")
    interleaved = why is None if asked is None else asked
    chosen = plan.with_profile(replace(plan.profile, interleaved=interleaved))
    if not interleaved:
        return chosen, sequential_text(why if asked is None else None)
    risk = f", as asked; {sequential_reason(why)}" if why is not None else ""
    return chosen, interleaved_text(WINDOW_S) + risk
