"""What proofs are asked for, and who hears of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pgclinic.experiment.execute import Listener
from pgclinic.fleet.here import Fleet, Here
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Proof
from pgclinic.model.twin import Twin
from pgclinic.whatif.trials_in_time import WARM_UP_S, Trials, trials_in_time

BUDGET_S = 600.0


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


def trials_in(share_s: float, request: ProofRequest, arms: int = 2) -> Trials | None:
    """The trials of a proof that has ``share_s`` for all of it; None where that is too little."""
    return request.trials or trials_in_time(share_s, request.warm_up_s, arms)
