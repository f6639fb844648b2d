"""What proofs are asked for, and who hears of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pgclinic.experiment.execute import Listener
from pgclinic.fleet.here import Fleet, Here
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Proof
from pgclinic.model.twin import Twin
from pgclinic.study.duration import MEASURE_S_MIN, OVERHEAD_S_GUESS

BUDGET_S = 600.0
#: The fewest blocks with an interval that holds however often it is looked at; and those that a proof gets if it can.
BLOCKS_MIN, BLOCKS_WANTED = 5, 8
#: Longer trials do not make up for fewer blocks.
MEASURE_S_MAX = 10.0
WARM_UP_S = 1.0
_ARMS = 2


@dataclass(frozen=True)
class Trials:
    """How long each trial measures; ``blocks`` is their number where it is fixed, else the budget of the proof ends."""

    measure_s: float
    blocks: int | None = None


@dataclass(frozen=True)
class ProofRequest:
    """``folder`` takes the twin and a run for each proof; ``budget_s`` is for all of them together.

    It counts from ``began_s``, the monotonic clock when the command began; None is when proving begins.

    With ``trials`` every proof has these, whatever time is left; else trials are as long as the budget allows.

    With ``uses_kept_twin`` a twin of the same database that an earlier command has captured is used again.

    ``command`` is what made it, without secrets; ``masked_text`` words what was masked in the twin's file.
    """

    folder: Path
    command: tuple[str, ...] = ("pgclinic", "checkup", "--prove")
    budget_s: float = BUDGET_S
    began_s: float | None = None
    observe_s: float = 10.0
    check_s: float = 10.0
    warm_up_s: float = WARM_UP_S
    trials: Trials | None = None
    uses_kept_twin: bool = True
    seed: int = 1
    fleet: Fleet = field(default_factory=Here)
    masked_text: Callable[[Twin], str] = field(default=lambda _: "")


@dataclass(frozen=True)
class ProofListener:
    """``on_checkup`` gets the whole checkup after every proof, so that nothing that is finished can be lost.

    ``on_proof`` gets each proof by itself: by plans as soon as these are known, again when blocks have run.
    ``on_finding`` gets what only the plans on the twin showed. ``on_blocks`` hears whose blocks of trials come next,
    None for those of all cures together.
    """

    on_stage: Callable[[str], None] = field(default=lambda _: None)
    on_proof: Callable[[Finding, Proof], None] = field(default=lambda _finding, _proof: None)
    on_finding: Callable[[Finding], None] = field(default=lambda _: None)
    on_blocks: Callable[[Finding | None], None] = field(default=lambda _: None)
    on_checkup: Callable[[Checkup], None] = field(default=lambda _: None)
    experiment: Listener = field(default_factory=Listener)


class TimeLeft:
    """What is left of a budget. It counts from ``began_s`` of the monotonic clock, None for when it is made."""

    def __init__(self, budget_s: float, began_s: float | None = None) -> None:
        self._end_s = (began_s if began_s is not None else time.monotonic()) + budget_s

    @property
    def seconds(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    @property
    def overrun_s(self) -> float:
        return max(0.0, time.monotonic() - self._end_s)


def trials_in(share_s: float, request: ProofRequest, arms: int = _ARMS) -> Trials | None:
    """The trials of a proof that has ``share_s`` for all of it; None where that is too little."""
    if request.trials is not None:
        return request.trials
    for blocks in range(BLOCKS_WANTED, BLOCKS_MIN - 1, -1):
        measure_s = share_s / (blocks * arms) - request.warm_up_s - OVERHEAD_S_GUESS
        if measure_s >= MEASURE_S_MIN:
            return Trials(min(measure_s, MEASURE_S_MAX))
    return None


def needed_s(warm_up_s: float = WARM_UP_S) -> float:
    """The least time in which a proof gives an interval."""
    return BLOCKS_MIN * _ARMS * (MEASURE_S_MIN + warm_up_s + OVERHEAD_S_GUESS)
