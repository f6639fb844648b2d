"""A treatment judged on the twin of the database: as it is against treated, under the whole workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest, trials_in
from pgclinic.checkup.prove.proving_twin import ProvingTwin
from pgclinic.experiment.on_twin import OnTwin
from pgclinic.model.activity import Activity, WorkKind
from pgclinic.model.compare import Comparison
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.finding import Fact, Proof, Unit
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.reason import SignOpen, TwinUnlike
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import CompareWord
from pgclinic.whatif.tried_fidelity import with_tried
from pgclinic.whatif.twin_blocks import BlocksAsked, BlocksKept, TooLittleMemoryError, run_twin_blocks
from pgclinic.whatif.twin_change import TwinChange

#: A statement that became slower by less than this is not worth a word.
SLOWER_MIN = 1.05
_STATEMENTS_NAMED = 5
_TEXT_MAX = 100
_WORK = {
    WorkKind.TEMPORARY_FILES: "temporary files written by a transaction",
    WorkKind.BUFFER_READS: "buffers read by a transaction",
    WorkKind.WAL: "WAL of a transaction",
    WorkKind.FULL_PAGE_IMAGES: "full-page images of a transaction",
    WorkKind.BUFFERS: "buffers visited by a transaction",
    WorkKind.SEQUENTIAL_SCANS: "sequential scans of a transaction",
    WorkKind.CPU: "CPU of a transaction",
}


@dataclass(frozen=True)
class Asked:
    """One change, as the proof of which pathology, in how much time; ``plans`` is what plans and buffers say of it.

    ``rest`` is what they say of the statements that had no values yet when the change was tried first.
    """

    pathology: str
    change: TwinChange
    share_s: float
    plans: PlanProof | None = None
    rest: PlanProof | None = None


def proof_on_twin(proving: ProvingTwin, asked: Asked, request: ProofRequest, listener: ProofListener) -> Proof:
    """Run blocks of trials and give the verdict. Raises UsageError, RunFailedError; what has finished is stored."""
    trials = trials_in(asked.share_s, request)
    if trials is None or proving.on is None:
        return replace(by_plans(asked.change, asked.plans, proving), reason="the budget has no time left for blocks")
    blocks = BlocksAsked(
        dataset=proving.dataset,
        on=proving.on,
        server=proving.server,
        change=asked.change,
        name=f"proof-{asked.pathology}",
        title=f"Proof of a treatment: {asked.change.title}",
        about="The twin of a live server as it is (a) and treated (b).",
        trials=trials,
        share_s=asked.share_s,
        warm_up_s=request.warm_up_s,
        fidelity=_fidelity(proving.on, asked),
        seed=request.seed,
    )
    listener.on_stage(f"proving {asked.pathology}: {asked.change.title}")
    kept = BlocksKept(request.folder, request.command, request.fleet, listener.experiment, listener.on_stage)
    try:
        comparison, folder = run_twin_blocks(blocks, kept)
    except TooLittleMemoryError as error:
        return replace(by_plans(asked.change, asked.plans, proving), reason=error.message)
    return _proof(proving, asked, comparison, folder)


def by_plans(change: TwinChange, plans: PlanProof | None, proving: ProvingTwin) -> Proof:
    """The proof that plans and buffers alone give; ``plans`` is None for what no transaction can try."""
    return Proof(
        treatment=change.treatment,
        word=plans.word.value if plans is not None else None,
        on=proving.words,
        reason=None if plans is not None else "it cannot be tried inside a transaction",
        plans=plans,
    )


def _fidelity(on: OnTwin, asked: Asked) -> Fidelity | None:
    tried = [proof for proof in (asked.plans, asked.rest) if proof is not None]
    return with_tried(on.fidelity, asked.change, tried) if on.fidelity is not None else None


def _proof(proving: ProvingTwin, asked: Asked, comparison: Comparison, folder: Path) -> Proof:
    """Blocks that decide give the word; where they do not, that of the plans stays."""
    plans, seen, invalid = asked.plans, comparison.transport, comparison.word is CompareWord.INVALID
    decided = not invalid and comparison.word is not CompareWord.INCONCLUSIVE
    by_blocks = None if invalid else comparison.word.value
    word = by_blocks if decided or plans is None else plans.word.value
    interval = None if invalid else comparison.interval
    proof = Proof(
        treatment=asked.change.treatment,
        word=word,
        on=proving.words,
        run=str(folder),
        reason=_why_invalid(comparison) if invalid else None,
        doubts=comparison.doubts,
        mechanism=tuple(_work_facts(comparison.activity)),
        elsewhere=(*_slower(comparison.activity), *_more_work(comparison.activity)),
        plans=plans,
        blocks=by_blocks,
    )
    if invalid or interval is None:
        return proof
    if seen is None:
        return replace(proof, ratio=interval.ratio, low=interval.low, high=interval.high, measure="tps")
    return replace(
        proof,
        ratio=seen.ratio,
        low=seen.low,
        high=seen.high,
        measure="server_time",
        log_e_value=seen.log_e_value,
        outside_share=seen.outside_share,
        tps_ratio=interval.ratio if seen.tps_counts else None,
        sessions=seen.sessions,
    )


def _why_invalid(comparison: Comparison) -> str:
    open_sign = next((reason for reason in comparison.reasons if isinstance(reason, SignOpen)), None)
    if open_sign is not None:
        share = f"{open_sign.outside_share:.0%}".replace("%", " %")
        return f"the sign is open: the twin does not reproduce statements with {share} of the time closely enough"
    unlike = next((reason for reason in comparison.reasons if isinstance(reason, TwinUnlike)), None)
    if unlike is None or comparison.invalid_because is not InvalidReason.TWIN_UNLIKE:
        return (comparison.invalid_because or InvalidReason.NO_BLOCK).value.replace("_", " ")
    return f"{unlike.outside} of {unlike.statements} statements are out of tolerance or do not run on the twin"


def _work_facts(activity: Activity | None) -> Iterator[Fact]:
    """What the server clearly does less of."""
    yield from (fact for ratio, fact in _work(activity) if ratio < 1.0)


def _more_work(activity: Activity | None) -> Iterator[Fact]:
    """What the server clearly does more of: the WAL of an index, for one."""
    yield from (fact for ratio, fact in _work(activity) if ratio > SLOWER_MIN)


def _work(activity: Activity | None) -> Iterator[tuple[float, Fact]]:
    for compared in activity.work if activity is not None else ():
        if compared.clear and compared.a > 0:
            ratio = compared.b / compared.a
            yield ratio, Fact(name=_WORK[compared.work], value=ratio, unit=Unit.RATIO)


def _slower(activity: Activity | None) -> Iterator[Fact]:
    """Statements that clearly take longer with the treatment, those with the most time first."""
    seen = [
        (statement.b_us - statement.a_us, statement.text, statement.b_us / statement.a_us)
        for statement in (activity.statements if activity is not None else ())
        if statement.clear and statement.a_us and statement.b_us and statement.b_us > statement.a_us * SLOWER_MIN
    ]
    for _, text, ratio in sorted(seen, reverse=True)[:_STATEMENTS_NAMED]:
        yield Fact(name=f"time: {_short(text)}", value=ratio, unit=Unit.RATIO)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_MAX else f"{line[: _TEXT_MAX - 1]}…"
