"""A treatment judged on the twin of the database: as it is against treated, under the whole workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.checkup.proof_request import BLOCKS_MIN, ProofListener, ProofRequest, Trials, trials_in
from pgclinic.checkup.proving_twin import ProvingTwin
from pgclinic.checkup.tried_on_twin import ChangeTried
from pgclinic.checkup.twin_change import TwinChange
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.on_twin import study_on_twin
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import Experiment, run, start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.judge.comparison import compare
from pgclinic.load.script_argument import parse_script
from pgclinic.model.activity import Activity, Work
from pgclinic.model.compare import Comparison
from pgclinic.model.finding import Fact, Proof, Unit
from pgclinic.model.reason import TwinUnlike
from pgclinic.model.run import RunKind
from pgclinic.model.study import Study
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import CompareWord
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import read_run
from pgclinic.study.compare import A, B, Common, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from pgclinic.study.duration import OVERHEAD_S_GUESS

#: A statement that became slower by less than this is not worth a word.
SLOWER_MIN = 1.05
_STATEMENTS_NAMED = 5
_TEXT_MAX = 100
_WORK = {
    Work.TEMPORARY_FILES: "temporary files written by a transaction",
    Work.BUFFER_READS: "buffers read by a transaction",
    Work.WAL: "WAL of a transaction",
    Work.FULL_PAGE_IMAGES: "full-page images of a transaction",
    Work.BUFFERS: "buffers visited by a transaction",
    Work.SEQUENTIAL_SCANS: "sequential scans of a transaction",
    Work.CPU: "CPU of a transaction",
}


@dataclass(frozen=True)
class Asked:
    """One change, as the proof of which pathology, in how much time; ``tried`` is what plans and blocks say of it."""

    pathology: str
    change: TwinChange
    share_s: float
    tried: ChangeTried | None = None


def proof_on_twin(proving: ProvingTwin, asked: Asked, request: ProofRequest, listener: ProofListener) -> Proof:
    """Run blocks of trials and give the verdict. Raises UsageError, RunFailedError; what has finished is stored."""
    trials = trials_in(asked.share_s, request)
    if trials is None:
        return no_time(asked.change, asked.tried, proving)
    study = _study(proving, asked, trials, request.warm_up_s)
    machine = read_machine()
    plan = comparison_plan(
        study,
        {A: proving.server, B: proving.server},
        seed=request.seed,
        memory_bytes=machine.memory_bytes,
        fidelity=proving.on.fidelity,
    )
    if not plan.study.questions:
        return _without(asked.change, asked.tried, proving, "this machine has too little memory for it")
    interleaved = why_sequential(plan, machine.memory_bytes) is None
    plan = plan.with_profile(replace(plan.profile, interleaved=interleaved))
    listener.on_stage(f"proving {asked.pathology}: {asked.change.title}")
    prepare(plan, {}, listener.on_stage)
    info = new_run_info(
        RunKind.COMPARE,
        plan,
        machine,
        command=request.command,
        server=proving.server.words,
        wanted=proving.server.spec,
    )
    experiment = start(plan, info, request.folder, request.fleet)
    verdict = run(experiment, listener.experiment)
    stored = read_run(experiment.folder.path)
    comparison = replace(compare(plan.study, stored.trials, verdict, plan.profile), fidelity=plan.fidelity)
    experiment.folder.write_comparison(comparison)
    return _proof(proving, asked, comparison, experiment)


def no_time(change: TwinChange, tried: ChangeTried | None, proving: ProvingTwin) -> Proof:
    return _without(change, tried, proving, "the budget has no time left for it")


def not_worth(tried: ChangeTried, proving: ProvingTwin) -> Proof:
    """Of an index that no plan uses, or that saves next to nothing."""
    reason = "it saves hardly a block on the twin" if tried.uses_index else "no plan of the twin uses it"
    return _without(tried.change, tried, proving, reason)


def not_best(tried: ChangeTried, proving: ProvingTwin) -> Proof:
    return _without(tried.change, tried, proving, "another treatment saves more; plans and blocks only")


def _without(change: TwinChange, tried: ChangeTried | None, proving: ProvingTwin, reason: str) -> Proof:
    return Proof(
        treatment=change.treatment,
        word=None,
        on=proving.words,
        reason=reason,
        mechanism=tuple(_tried_facts(tried)),
        elsewhere=tuple(_tried_worse(tried)),
    )


def _study(proving: ProvingTwin, asked: Asked, trials: Trials, warm_up_s: float) -> Study:
    change = asked.change
    as_it_is = ArmAsked(settings=dict(change.before))
    treated = ArmAsked(settings=dict(change.settings), changes=tuple(f"{one};" for one in change.statements))
    least_s = BLOCKS_MIN * 2 * (trials.measure_s + warm_up_s + OVERHEAD_S_GUESS)
    study = comparison_study(
        as_it_is,
        treated,
        Common(scripts=(), default_script=parse_script("builtin:tpcb-like"), twin=proving.dataset),
        Length(
            warm_up_s=warm_up_s,
            measure_s=trials.measure_s,
            blocks=trials.blocks,
            budget_s=max(asked.share_s, least_s + 1.0),
        ),
        "",
    )
    study = study_on_twin(study, proving.on)
    return replace(
        study,
        name=f"proof-{asked.pathology}",
        title=f"Proof of a treatment: {change.title}",
        about="The twin of a live server as it is (a) and treated (b).",
        arms={
            A: replace(study.arms[A], about="as it is"),
            B: replace(study.arms[B], about=change.title),
        },
    )


def _proof(proving: ProvingTwin, asked: Asked, comparison: Comparison, experiment: Experiment) -> Proof:
    interval, invalid = comparison.interval, comparison.word is CompareWord.INVALID
    return Proof(
        treatment=asked.change.treatment,
        word=None if invalid else comparison.word.value,
        ratio=interval.ratio if interval is not None and not invalid else None,
        low=interval.low if interval is not None and not invalid else None,
        high=interval.high if interval is not None and not invalid else None,
        measure="tps",
        on=proving.words,
        run=str(experiment.folder.path),
        reason=_why_invalid(comparison) if invalid else None,
        doubts=comparison.doubts,
        mechanism=(*_tried_facts(asked.tried), *_work_facts(comparison.activity)),
        elsewhere=(*_slower(comparison.activity), *_more_work(comparison.activity)) or tuple(_tried_worse(asked.tried)),
    )


def _why_invalid(comparison: Comparison) -> str:
    unlike = next((one for one in comparison.reasons if isinstance(one, TwinUnlike)), None)
    if unlike is None or comparison.invalid_because is not InvalidReason.TWIN_UNLIKE:
        return (comparison.invalid_because or InvalidReason.NO_BLOCK).value.replace("_", " ")
    outside = f"{unlike.outside} of {unlike.statements} statements are out of tolerance or do not run on the twin"
    if unlike.judges_throughput:
        return outside
    return f"commits per statement of the twin are not those of the original; {outside}"


def _tried_facts(tried: ChangeTried | None) -> Iterator[Fact]:
    if tried is None:
        return
    yield Fact(name="change of the blocks that the workload visits", value=-tried.saved_share, unit=Unit.SHARE)
    for one in tried.changed[:_STATEMENTS_NAMED]:
        yield Fact(name=f"blocks a call, as it is: {_short(one.text)}", value=one.blocks, unit=Unit.BUFFERS)
        yield Fact(name=f"blocks a call, treated: {_short(one.text)}", value=one.blocks_after, unit=Unit.BUFFERS)


def _tried_worse(tried: ChangeTried | None) -> Iterator[Fact]:
    """Statements that visit more blocks than before."""
    seen = tried.statements if tried is not None else ()
    worse = [one for one in seen if one.blocks_after > one.blocks * SLOWER_MIN]
    for one in sorted(worse, key=lambda one: one.saved)[:_STATEMENTS_NAMED]:
        if one.blocks:
            yield Fact(name=f"blocks: {_short(one.text)}", value=one.blocks_after / one.blocks, unit=Unit.RATIO)


def _work_facts(activity: Activity | None) -> Iterator[Fact]:
    """What the server clearly does less of."""
    yield from (fact for ratio, fact in _work(activity) if ratio < 1.0)


def _more_work(activity: Activity | None) -> Iterator[Fact]:
    """What the server clearly does more of: the WAL of an index, for one."""
    yield from (fact for ratio, fact in _work(activity) if ratio > SLOWER_MIN)


def _work(activity: Activity | None) -> Iterator[tuple[float, Fact]]:
    for one in activity.work if activity is not None else ():
        if one.clear and one.a > 0:
            ratio = one.b / one.a
            yield ratio, Fact(name=_WORK[one.work], value=ratio, unit=Unit.RATIO)


def _slower(activity: Activity | None) -> Iterator[Fact]:
    """Statements that clearly take longer with the treatment, those with the most time first."""
    seen = [
        (one.b_us - one.a_us, one.text, one.b_us / one.a_us)
        for one in (activity.statements if activity is not None else ())
        if one.clear and one.a_us and one.b_us and one.b_us > one.a_us * SLOWER_MIN
    ]
    for _, text, ratio in sorted(seen, reverse=True)[:_STATEMENTS_NAMED]:
        yield Fact(name=f"time: {_short(text)}", value=ratio, unit=Unit.RATIO)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_MAX else f"{line[: _TEXT_MAX - 1]}…"
