"""The advised set against the twin as it is, in blocks of trials under the whole workload; in the same blocks the set
without one of its indexes, for as many of these as there is time for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.advise.choice import MIN_SAVED
from pgclinic.errors import PgclinicError
from pgclinic.experiment.on_twin import OnTwin
from pgclinic.experiment.servers import ChosenServer
from pgclinic.model.advise import AdviceProof, LeftOutIndex
from pgclinic.model.compare import Comparison
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.reason import SignOpen
from pgclinic.model.transport import Transport
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import CompareWord
from pgclinic.whatif.trials_in_time import arms_in_time, trials_in_time
from pgclinic.whatif.tried_fidelity import with_tried
from pgclinic.whatif.twin_blocks import (
    BlocksAsked,
    BlocksKept,
    OtherArm,
    TooLittleMemoryError,
    beside_others,
    run_twin_blocks,
)
from pgclinic.whatif.twin_change import TwinChange

_TITLE = "Proof of advised indexes"
#: With indexes left out there is time to measure each arm for so long in the fewest blocks.
PART_MEASURE_S = 3.0


@dataclass(frozen=True)
class ProvenSet:
    """``statements`` create the indexes; ``tried`` is what single executions say of all of them, if it is known."""

    statements: Sequence[str]
    title: str
    tried: PlanProof | None = None
    parts: Sequence[LeftOutPart] = ()


@dataclass(frozen=True)
class LeftOutPart:
    """The set without the index ``name``: what creates the others, and by query id what statements take with the index
    in place of 1 without it, by single executions. What is 1 has the same plan and buffers."""

    name: str
    statements: Sequence[str]
    ratios: Mapping[int, float]


def proof_of_set(
    dataset: TwinDataset, on: OnTwin, server: ChosenServer, proven: ProvenSet, share_s: float, kept: BlocksKept
) -> AdviceProof:
    """What the blocks say in ``share_s``; what fails is a proof without a ratio that says why.

    Indexes are left out in the order of ``proven.parts``, as long as there is time for ``PART_MEASURE_S`` of each arm:
    with less the answer for the whole set would suffer. One index alone is the whole set.
    """
    parts = proven.parts if len(proven.parts) > 1 else ()
    arms = arms_in_time(share_s, 2 + len(parts), PART_MEASURE_S)
    return _proof_of(dataset, on, server, replaced_parts(proven, parts[: arms - 2]), share_s, kept)


def replaced_parts(proven: ProvenSet, parts: Sequence[LeftOutPart]) -> ProvenSet:
    """The same with these indexes to be left out."""
    return ProvenSet(proven.statements, proven.title, proven.tried, tuple(parts))


def _proof_of(
    dataset: TwinDataset, on: OnTwin, server: ChosenServer, proven: ProvenSet, share_s: float, kept: BlocksKept
) -> AdviceProof:
    trials = trials_in_time(share_s, arms=2 + len(proven.parts))
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
        others=tuple(_other(number, part, on.fidelity) for number, part in enumerate(proven.parts, 1)),
    )
    try:
        comparison, folder = run_twin_blocks(asked, kept)
    except TooLittleMemoryError as error:
        if proven.parts:
            return _proof_of(dataset, on, server, replaced_parts(proven, ()), share_s, kept)
        return AdviceProof(reason=error.message)
    except PgclinicError as error:
        return AdviceProof(reason=error.message)
    seen = beside_others(asked, folder)
    parts = zip(proven.parts, asked.others, strict=True)
    return replace(
        _proof(comparison, str(folder)), left_out=tuple(left_out(part.name, seen[other.name]) for part, other in parts)
    )


def _other(number: int, part: LeftOutPart, fidelity: Fidelity | None) -> OtherArm:
    change = TwinChange(0, f"without {part.name}", statements=tuple(part.statements))
    return OtherArm(f"without_{number}", change, with_ratios(fidelity, part.ratios) if fidelity is not None else None)


def with_ratios(fidelity: Fidelity, ratios: Mapping[int, float]) -> Fidelity:
    """With what single executions say of a change: 1 is the same plan and buffers."""
    statements = tuple(
        replace(one, unchanged=ratios.get(one.query_id) == 1.0, tried_ratio=ratios.get(one.query_id))
        for one in fidelity.statements
    )
    omitted = tuple(replace(one, tried_ratio=ratios.get(one.query_id)) for one in fidelity.omitted)
    return replace(fidelity, statements=statements, omitted=omitted)


def left_out(name: str, seen: Transport | None) -> LeftOutIndex:
    """What the blocks say of one index."""
    if seen is None:
        return LeftOutIndex(name=name, reason="no block has both")
    return LeftOutIndex(name=name, ratio=seen.ratio, low=seen.low, high=seen.high, blocks=seen.blocks)


def saves_nothing(one: LeftOutIndex) -> bool:
    """Whether the whole interval lies above what an index has to save beyond the others. One that reaches from a saving
    to a loss decides nothing: blocks show some per cent, single executions less."""
    return one.low is not None and one.low > 1.0 - MIN_SAVED


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
