"""How a run says whether its blocks are interleaved."""

from __future__ import annotations

from pgclinic.model.interleaving import SequentialKind, WhySequential

_WORDS = {
    SequentialKind.ATTACHED_SERVER: "an existing server would carry both loads at once",
    SequentialKind.UNEQUAL_TIMES: "the arms are measured for different times",
    SequentialKind.STEADY_WARM_UP: "each server ends its warm-up at a time of its own",
    SequentialKind.THINK_TIMES: "think times are longer than a window",
    SequentialKind.DECLINE: "a decline is followed over the time of one server",
}


def interleaved_text(window_s: float) -> str:
    """The line of a run whose blocks are interleaved."""
    return f"blocks are interleaved: both servers are up, and the load alternates every {window_s:g} s"


def window_text(window_s: float) -> str:
    """The line after a calibration that chose the length of the windows."""
    return f"by the calibration the load alternates every {window_s:g} s"


def sequential_text(why: WhySequential | None) -> str:
    """The line of a run whose blocks are not; None where the user wanted that."""
    return f"blocks are sequential: {sequential_reason(why)}" if why is not None else "blocks are sequential"


def sequential_reason(why: WhySequential) -> str:
    """Why blocks cannot be interleaved."""
    if why.kind is SequentialKind.CONDITION:
        return f"the condition of arm {why.arm} would also affect the other arms"
    if why.kind is SequentialKind.BACKGROUND_SETTING:
        return f"the arms differ in {why.setting}, which decides when a server works for transactions that have ended"
    if why.kind is SequentialKind.MEMORY:
        needed, memory = why.needed_bytes or 0, why.memory_bytes or 0
        return f"their servers together need {needed / 1e9:.1f} GB of {memory / 1e9:.1f} GB of memory"
    return _WORDS[why.kind]
