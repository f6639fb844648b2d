"""The advised set against the twin as it is, in blocks of trials under the whole workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.errors import PgclinicError
from pgclinic.experiment.on_twin import OnTwin
from pgclinic.experiment.servers import ChosenServer
from pgclinic.model.advise import AdviceProof
from pgclinic.model.compare import Comparison
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.reason import SignOpen
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import CompareWord
from pgclinic.whatif.trials_in_time import trials_in_time
from pgclinic.whatif.tried_fidelity import with_tried
from pgclinic.whatif.twin_blocks import BlocksAsked, BlocksKept, run_twin_blocks
from pgclinic.whatif.twin_change import TwinChange

_TITLE = "Proof of advised indexes"


@dataclass(frozen=True)
class ProvenSet:
    """``statements`` create the indexes; ``tried`` is what single executions say of all of them, if it is known."""

    statements: Sequence[str]
    title: str
    tried: PlanProof | None = None


def proof_of_set(
    dataset: TwinDataset, on: OnTwin, server: ChosenServer, proven: ProvenSet, share_s: float, kept: BlocksKept
) -> AdviceProof:
    """What the blocks say in ``share_s``; what fails is a proof without a ratio that says why."""
    trials = trials_in_time(share_s)
    if trials is None:
        return AdviceProof(reason="the budget has no time left for blocks")
    change = TwinChange(0, proven.title, statements=tuple(proven.statements))
    fidelity = on.fidelity
    if fidelity is not None and proven.tried is not None:
        fidelity = with_tried(fidelity, change, (proven.tried,))
    asked = BlocksAsked(
        dataset=dataset,
        on=on,
        server=server,
        change=change,
        name="proof-advise",
        title=_TITLE,
        about="The twin of a database as it is (a) and with the advised indexes (b).",
        trials=trials,
        share_s=share_s,
        fidelity=fidelity,
    )
    try:
        comparison, folder = run_twin_blocks(asked, kept)
    except PgclinicError as error:
        return AdviceProof(reason=error.message)
    return _proof(comparison, str(folder))


def _proof(comparison: Comparison, run: str) -> AdviceProof:
    seen, interval = comparison.transport, comparison.interval
    if comparison.word is CompareWord.INVALID or interval is None:
        because = comparison.invalid_because
        return AdviceProof(
            run=run,
            reason=because.value if because is not None else InvalidReason.NO_BLOCK.value,
            open_share=next((one.outside_share for one in comparison.reasons if isinstance(one, SignOpen)), None),
        )
    if seen is None:
        return AdviceProof(
            word=comparison.word.value,
            ratio=interval.ratio,
            low=interval.low,
            high=interval.high,
            measure="tps",
            run=run,
        )
    return AdviceProof(
        word=comparison.word.value, ratio=seen.ratio, low=seen.low, high=seen.high, blocks=seen.blocks, run=run
    )
